// libFuzzer target for $MUSTER_ROLE_FILE: what is taken is the address and the port that it names.
#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "kernels/infer/rolefile.h"
#include "scratch.h"

static bool is_address(const struct sockaddr_storage *to, const char *text,
                       json_int_t port)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
    struct in6_addr want;
    if (to->ss_family == AF_INET)
        return inet_pton(AF_INET, text, &want) == 1 && ntohs(v4->sin_port) == port &&
               memcmp(&v4->sin_addr, &want, sizeof v4->sin_addr) == 0;
    return to->ss_family == AF_INET6 && inet_pton(AF_INET6, text, &want) == 1 &&
           ntohs(v6->sin6_port) == port &&
           memcmp(&v6->sin6_addr, &want, sizeof want) == 0;
}

static void check(const struct sockaddr_storage *to, const uint8_t *data, size_t size)
{
    json_t *root = json_loadb((const char *)data, size, 0, NULL);
    const json_t *part = json_object_get(json_object_get(root, "roles"), "prefill");
    const char *leader = json_string_value(json_object_get(part, "leader"));
    demand(leader != NULL, "there is no leader");
    demand(is_address(to, leader, json_integer_value(json_object_get(part, "port"))),
           "another address or port than it names");
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    struct sockaddr_storage to = {0};
    int len = 0;
    CLEANUP_FREE char *path = scratch_put("roles.json", data, size);
    if (rolefile_leader(path, "prefill", &to, &len, &err) == 0)
        check(&to, data, size);
    else
        demand_error(&err);
    return 0;
}

// One role of a JSON document.
#include "kernels/infer/rolefile.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "kernels/infer/tcp.h"

static int find(const json_t *root, const char *role, struct sockaddr_storage *to,
                int *len, struct err *err)
{
    const json_t *part = json_object_get(json_object_get(root, "roles"), role);
    const char *state = json_string_value(json_object_get(part, "state"));
    const char *leader = json_string_value(json_object_get(part, "leader"));
    json_int_t port = json_integer_value(json_object_get(part, "port"));
    if (state == NULL || leader == NULL) {
        err_set(err, "there is no role %s", role);
        return -1;
    }
    if (strcmp(state, "running") != 0) {
        err_set(err, "role %s is %s", role, state);
        return -1;
    }
    socklen_t n = 0;
    if (port > 0 && port <= 65535 && tcp_address(leader, (uint32_t)port, to, &n) == 0) {
        *len = (int)n;
        return 0;
    }
    err_set(err, "role %s: %s port %lld: no address", role, leader, (long long)port);
    return -1;
}

int rolefile_leader(const char *path, const char *role, struct sockaddr_storage *to,
                    int *len, struct err *err)
{
    json_error_t where;
    json_t *root = json_load_file(path, 0, &where);
    if (root == NULL) {
        err_set(err, "%s: line %d: %s", path, where.line, where.text);
        return -1;
    }
    int rc = find(root, role, to, len, err);
    if (rc < 0)
        err_prefix(err, "%s", path);
    json_decref(root);
    return rc;
}

// libFuzzer target for DNS replies: the first byte says what was asked for (A, AAAA, PTR),
// the rest is the reply.
#include <ares.h>
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "hostfile/addrset.h"
#include "hostfile/dns_parse.h"

static void check(const struct dns_answer *a, enum dns_type type, bool cut)
{
    bool any = a->naddr > 0 || a->names.n > 0;
    demand((a->status == DNS_OK) == any, "an answer is OK when it has something");
    demand(!cut || a->status == DNS_MALFORMED, "a cut answer was used");
    demand(type == DNS_PTR ? a->naddr == 0 : a->names.n == 0,
           "it has what was not asked for");
    for (size_t i = 0; i < a->naddr; i++) {
        demand(a->addr[i].ss_family == (type == DNS_A ? AF_INET : AF_INET6),
               "a family");
        demand(i == 0 || addrset_compare(&a->addr[i - 1], &a->addr[i]) <= 0,
               "the order");
    }
    for (size_t i = 0; i < a->names.n; i++)
        demand(strlen(a->names.v[i]) <= 4 * 255, "a name is too long"); // escaped: \ooo
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {ARES_SUCCESS, ARES_ENOTFOUND, ARES_ENODATA};
    if (size == 0)
        return 0;
    enum dns_type type = (enum dns_type)(data[0] % 3);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct dns_answer a = {.server = ""};
        // As c-ares gives it: writable, and not a byte longer.
        unsigned char *reply = xmalloc(size > 1 ? size - 1 : 1);
        memcpy(reply, data + 1, size - 1);
        dns_parse(statuses[i], type, reply, (int)(size - 1), &a);
        check(&a, type, dns_parse_is_cut(reply, (int)(size - 1)));
        dns_answer_free(&a);
        free(reply);
    }
    return 0;
}

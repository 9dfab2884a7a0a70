// Host lists of the command line.
#include "hostfile/hostlist.h"

#include <string.h>

#include "hostfile/gather.h"

static int read_list(struct gather *g, const char *text, const struct place *at,
                     struct err *err)
{
    size_t len = strlen(text);
    if (len == 0)
        return place_fail(at, 0, "HF_EMPTY", err, "the list names no host");
    if (place_check_bytes(at, text, len, err) < 0)
        return -1;
    return gather_list(g, text, len, at, err);
}

int hostlist_read(const char *text, const char *option, int bare, const char *self,
                  struct members *out, struct err *err)
{
    const struct place at = {.file = option, .column = 1};
    const struct gather_rules rules = {
        .tool = "a list",
        .forms = GATHER_USER | GATHER_COLON | GATHER_COMMA | GATHER_RANGE,
        .repeat = GATHER_ADD_UP,
        .bare = bare,
    };
    struct gather *g = gather_create(option, &rules);
    int rc = read_list(g, text, &at, err);
    if (rc == 0)
        rc = gather_finish(g, self, out, err);
    gather_destroy(g);
    return rc;
}

// libFuzzer target for --auto: HOSTNAME, then lines NAME=VALUE. There are no files.
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"
#include "demand.h"
#include "hostfile/detect.h"

static void try(const struct detect_view *view, uint32_t members, bool wanted)
{
    ERR_AUTO err = ERR_INIT;
    struct detected d;
    if (detect(view, members, wanted, &d, &err) < 0) {
        demand_error(&err);
        return;
    }
    if (d.system != NULL) {
        demand(d.text != NULL && d.text[0] != '\0', "a group without a source");
        demand(d.members <= DETECT_MEMBERS_MAX, "more members than there may be");
        demand(d.index < 0 || d.members == 0 || d.index < (long)d.members,
               "it is beyond its group");
        free(detected_describe(&d));
    }
    detected_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    STRV_AUTO env = STRV_INIT;
    CLEANUP_FREE char *text = xstrndup((const char *)data, size);
    char *newline = strchr(text, '\n');
    if (newline == NULL)
        return 0;
    *newline = '\0';
    strv_add_split(&env, newline + 1, '\n');
    if (env.n == 0)
        return 0;
    struct detect_view view = {.env = env.v, .root = "/nonexistent", .hostname = text};
    try(&view, 0, false);
    try(&view, 0, true);
    try(&view, 4, true);
    return 0;
}

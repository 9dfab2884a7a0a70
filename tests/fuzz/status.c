// libFuzzer target for a job's status as it came over the wire, made text for a terminal.
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "launcher/status_text.h"

// Ends of lines are the only control characters.
static void check(const struct buf *out)
{
    const uint8_t *s = buf_data(out);
    for (size_t i = 0; i < buf_len(out); i++) {
        bool c1 = s[i] == 0xC2 && i + 1 < buf_len(out) && s[i + 1] < 0xA0;
        demand((s[i] >= 0x20 || s[i] == '\n') && s[i] != 0x7f && !c1,
               "a terminal would take it for a command");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO out = BUF_INIT;
    CLEANUP_FREE char *json = xstrndup((const char *)data, size);
    if (status_text(json, &out, &err) == 0)
        check(&out);
    else
        demand_error(&err);
    return 0;
}

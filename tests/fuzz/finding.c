// libFuzzer target for what a check prints and how it ended: the first byte is a wait(2) status (exit
// codes 0 to 3 in its lowest bits, or else a signal), the rest is stdout.
#include <string.h>
#include <sys/wait.h>

#include "common/mem.h"
#include "demand.h"
#include "launcher/finding.h"

// What people read has no control characters.
static void check_text(const char *text)
{
    for (; *text != '\0'; text++)
        demand((unsigned char)*text >= 0x20 && *text != 0x7f, "it is no line of text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct finding f;
    Muster__CheckEnd end = MUSTER__CHECK_END__INIT;
    if (size == 0)
        return 0;
    CLEANUP_FREE uint8_t *output = xmemdup(data + 1, size - 1);
    end.status = data[0] < 4 ? data[0] << 8 : data[0] % 65;
    end.output.data = output;
    end.output.len = size - 1;
    finding_judge(&end, 1000, &f);
    demand(f.verdict < FINDING_VERDICTS && json_is_object(f.evidence), "no finding");
    demand(f.verdict != FINDING_PASS || end.status == 0, "it passed, and ended badly");
    demand(f.verdict == FINDING_PASS || f.why[0] != '\0' || WIFEXITED(end.status),
           "it does not say why");
    check_text(f.why);
    check_text(f.check);
    CLEANUP_FREE char *text = finding_text(&f);
    finding_free(&f);
    return 0;
}

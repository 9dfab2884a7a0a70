// libFuzzer target for what lies in the run directory: rolls, answers, beats.
#include <stdint.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/roll_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What was read is written as something that is read as the same.
static void try_roll(const char *text, size_t len)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO once = BUF_INIT, twice = BUF_INIT;
    struct roll_lease lease;
    struct roll *r = roll_json_read(text, len, &lease, &err);
    if (r == NULL) {
        if (err.text == NULL)
            __builtin_trap();
        return;
    }
    MEMBERS_AUTO all = MEMBERS_INIT, seated = MEMBERS_INIT;
    roll_lists(r, &all, &seated);
    if (all.n != r->nmembers || seated.n != r->npositions)
        __builtin_trap();
    roll_json_write(r, &lease, &once);
    roll_destroy(r);
    r = roll_json_read((const char *)buf_data(&once), buf_len(&once), &lease, NULL);
    if (r == NULL)
        __builtin_trap();
    roll_json_write(r, &lease, &twice);
    roll_destroy(r);
    if (buf_len(&once) != buf_len(&twice) ||
        memcmp(buf_data(&once), buf_data(&twice), buf_len(&once)) != 0)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct roll_applied applied;
    struct roll_beat beat;
    BUF_AUTO out = BUF_INIT;
    try_roll(text, size);
    if (roll_applied_read(text, size, &applied) == 0) {
        roll_applied_write(&applied, &out);
        roll_applied_free(&applied);
    }
    if (roll_beat_read(text, size, &beat) == 0)
        roll_beat_write(&beat, &out);
    return 0;
}

// stdin: from the launcher to the ranks that get it.
#include "common/mem.h"
#include "launcher/input.h"
#include "launcher/job_internal.h"

static void on_piece(void *arg, const void *data, size_t n, bool eof)
{
    struct job *j = arg;
    uint32_t who = j->opts->input;
    Muster__Output m = MUSTER__OUTPUT__INIT;
    m.rank = who == INPUT_ALL ? INPUT_ALL : who - 1;
    CLEANUP_FREE uint8_t *copy = xmemdup(data, n);
    m.data.data = copy;
    m.data.len = n;
    m.eof = eof;
    uint32_t dst = who == INPUT_ALL
                       ? TREE_ALL
                       : group_vertex_of(&j->group, j->at->ranks[who - 1].member);
    job_send(j, FRAME_INPUT, dst, &m.base);
}

void job_input_start(struct job *j)
{
    if (j->opts->input != INPUT_NOBODY)
        j->input =
            input_create(j->conf.base, 0, j->opts->input, j->map.ranks, on_piece, j);
}

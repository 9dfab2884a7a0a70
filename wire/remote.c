// Command lines for remote shells, and their answers.
#include "wire/remote.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/mem.h"

// One line each: csh takes no newline in quotes.
static const char start_script[] =
    "x=; for p; do "
    "case $p in */*) ;; *) p=$(command -v \"$p\") || continue ;; esac; "
    "[ -f \"$p\" ] || continue; "
    "[ -x \"$p\" ] && exec \"$p\" --stdio --announce; "
    "x=$p; done; "
    "if [ -n \"$x\" ]; then printf \"MUSTER-AGENT noexec %s\\n\" \"$x\"; exit 126; fi; "
    "echo MUSTER-AGENT absent; exit 127";

static const char put_script[] =
    "umask 077; d=${TMPDIR:-/tmp}/$1-$(id -u); f=$d/$2; h=$3; n=$f.$$; "
    "bad() { printf \"MUSTER-PUT bad %s\\n\" \"$*\"; exit 1; }; "
    "same() { [ \"$(sha256sum <\"$1\" 2>/dev/null)\" = \"$h  -\" ]; }; "
    "e=$(mkdir \"$d\" 2>&1); "
    "[ -d \"$d\" ] || bad \"${e:-cannot make $d}\"; "
    "[ ! -L \"$d\" ] && [ -O \"$d\" ] || bad \"$d is somebody else's\"; "
    "chmod 700 \"$d\" || bad \"$d cannot be made private\"; "
    "command -v sha256sum >/dev/null || bad \"sha256sum is missing\"; "
    "if [ -x \"$f\" ] && same \"$f\"; then printf \"MUSTER-PUT have %s\\n\" \"$f\"; "
    "exit 0; fi; "
    "printf \"MUSTER-PUT send %s\\n\" \"$f\"; "
    "if e=$(cat 2>&1 >\"$n\") && chmod 700 \"$n\" && same \"$n\" && mv -f \"$n\" "
    "\"$f\"; "
    "then printf \"MUSTER-PUT have %s\\n\" \"$f\"; exit 0; fi; "
    "rm -f \"$n\"; bad \"$f could not be written: ${e:-not all of it arrived}\"";

static void append_quoted(struct buf *out, const char *word)
{
    buf_append(out, "'", 1);
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buf_append_str(out, "'\\''");
        else
            buf_append(out, word, 1);
    }
    buf_append(out, "'", 1);
}

char *remote_quote(const char *word)
{
    BUF_AUTO out = BUF_INIT;
    append_quoted(&out, word);
    return buf_steal_str(&out);
}

static char *command(const char *script, const char *const *words, size_t n)
{
    BUF_AUTO out = BUF_INIT;
    buf_append_str(&out, "exec /bin/sh -c ");
    append_quoted(&out, script);
    buf_append_str(&out, " muster");
    for (size_t i = 0; i < n; i++) {
        buf_append(&out, " ", 1);
        append_quoted(&out, words[i]);
    }
    return buf_steal_str(&out);
}

char *remote_start_command(const char *const *agents, size_t n)
{
    return command(start_script, agents, n);
}

char *remote_put_command(const char *dir, const char *file, const char *sha256)
{
    const char *words[] = {dir, file, sha256};
    return command(put_script, words, sizeof words / sizeof *words);
}

// ---- answers ------------------------------------------------------------------

static const struct {
    const char *mark;
    enum remote_word word;
} marks[] = {
    {REMOTE_FRAMES, REMOTE_START},           {"MUSTER-AGENT absent\n", REMOTE_ABSENT},
    {"MUSTER-AGENT noexec ", REMOTE_NOEXEC}, {"MUSTER-PUT have ", REMOTE_HAVE},
    {"MUSTER-PUT send ", REMOTE_SEND},       {"MUSTER-PUT bad ", REMOTE_BAD},
};
enum { NMARKS = sizeof marks / sizeof *marks };

// The mark that stands first; its number, or NMARKS.
static size_t first_mark(const uint8_t *p, size_t n, const uint8_t **at)
{
    size_t found = NMARKS;
    for (size_t i = 0; i < NMARKS; i++) {
        const uint8_t *hit = memmem(p, n, marks[i].mark, strlen(marks[i].mark));
        if (hit != NULL && (found == NMARKS || hit < *at)) {
            *at = hit;
            found = i;
        }
    }
    return found;
}

enum remote_word remote_answer(struct buf *in, char **text)
{
    const uint8_t *p = buf_len(in) > 0 ? buf_data(in) : NULL, *at = p;
    *text = NULL;
    size_t i = p != NULL ? first_mark(p, buf_len(in), &at) : NMARKS;
    if (i == NMARKS)
        return REMOTE_NONE;
    size_t len = strlen(marks[i].mark);
    size_t used = (size_t)(at - p) + len;
    if (marks[i].mark[len - 1] != '\n') {
        const uint8_t *end = memchr(p + used, '\n', buf_len(in) - used);
        if (end == NULL)
            return REMOTE_NONE; // the rest of the line is still to come
        *text = xstrndup((const char *)p + used, (size_t)(end - p) - used);
        used = (size_t)(end - p) + 1;
    }
    buf_take(in, used);
    return marks[i].word;
}

char *remote_excerpt(const struct buf *said, size_t max)
{
    BUF_AUTO out = BUF_INIT;
    size_t n = buf_len(said), skip = n > max ? n - max : 0;
    bool gap = false;
    for (size_t i = skip; i < n; i++) {
        uint8_t c = buf_data(said)[i];
        if (c == '\n' || c == '\r') {
            gap = buf_len(&out) > 0;
            continue;
        }
        if (gap)
            buf_append(&out, "|", 1);
        gap = false;
        char shown = isprint(c) ? (char)c : '?';
        buf_append(&out, &shown, 1);
    }
    buf_append(&out, "", 1);
    return xstrdup((char *)buf_data(&out));
}

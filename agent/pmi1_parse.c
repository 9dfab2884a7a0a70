// Lines become commands.
#include "agent/pmi1_parse.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

enum { SHOWN_MAX = 40 }; // of a bad line, in texts

struct pmi1_parse {
    struct buf input;
    size_t scanned; // bytes of input without a LF
    char *name;     // owned
    struct pmi1_cmd cmd;
    size_t nargs, bytes; // of its arguments
    bool multi;          // inside mcmd ... endcmd
    bool given;          // cmd was handed out: begin a new one
};

struct pmi1_parse *pmi1_parse_create(void)
{
    return xcalloc(1, sizeof(struct pmi1_parse));
}

static void reset(struct pmi1_parse *p)
{
    for (size_t i = 0; i < p->cmd.nparts; i++)
        strv_free(&p->cmd.parts[i]);
    free(p->cmd.parts);
    free(p->name);
    p->name = NULL;
    p->cmd = (struct pmi1_cmd){0};
    p->nargs = p->bytes = 0;
    p->given = false;
}

void pmi1_parse_destroy(struct pmi1_parse *p)
{
    if (p == NULL)
        return;
    reset(p);
    buf_free(&p->input);
    free(p);
}

void pmi1_parse_feed(struct pmi1_parse *p, const void *data, size_t len)
{
    buf_append(&p->input, data, len);
}

// ---- keys and values --------------------------------------------------------

const char *pmi1_part_get(const struct strv *part, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = part->n; i-- > 0;) {
        const char *arg = part->v[i];
        if (strncmp(arg, key, n) == 0 && (arg[n] == '=' || arg[n] == '\0'))
            return arg[n] == '=' ? arg + n + 1 : "";
    }
    return NULL;
}

const char *pmi1_cmd_get(const struct pmi1_cmd *cmd, const char *key)
{
    return pmi1_part_get(&cmd->parts[0], key);
}

char *pmi1_unescape(const char *value)
{
    char *text = xstrdup(value), *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '\\' && from[1] != '\0')
            from++;
        *to++ = *from;
    }
    *to = '\0';
    return text;
}

static int add_arg(struct pmi1_parse *p, const char *arg, size_t len, struct err *err)
{
    if (len == 0 || arg[0] == '=') {
        err_set(err, "a value without a key: \"%.*s\"", SHOWN_MAX, arg);
        return -1;
    }
    p->bytes += len;
    if (++p->nargs > PMI1_ARGS_MAX || p->bytes > PMI1_BYTES_MAX) {
        err_set(err, "a command of more than %d keys or %d bytes", PMI1_ARGS_MAX,
                PMI1_BYTES_MAX);
        return -1;
    }
    strv_add_steal(&p->cmd.parts[p->cmd.nparts - 1], xstrndup(arg, len));
    return 0;
}

static size_t word_len(const char *s)
{
    size_t n = 0;
    while (s[n] != '\0' && s[n] != ' ')
        n += s[n] == '\\' && s[n + 1] != '\0' ? 2 : 1;
    return n;
}

// ---- lines ------------------------------------------------------------------

static int begin(struct pmi1_parse *p, const char *name, size_t len, struct err *err)
{
    if (len == 0) {
        err_set(err, "a command without a name");
        return -1;
    }
    if (p->name == NULL) {
        p->name = xstrndup(name, len);
        p->cmd.name = p->name;
    }
    p->cmd.parts = xrealloc(p->cmd.parts, p->cmd.nparts + 1, sizeof *p->cmd.parts);
    p->cmd.parts[p->cmd.nparts++] = (struct strv)STRV_INIT;
    return 0;
}

static int single_line(struct pmi1_parse *p, const char *line, struct err *err)
{
    const char *at = line + strlen("cmd=");
    size_t n = word_len(at);
    if (begin(p, at, n, err) < 0)
        return -1;
    for (at += n; *at != '\0'; at += n) {
        at += strspn(at, " ");
        n = word_len(at);
        if (n > 0 && add_arg(p, at, n, err) < 0)
            return -1;
    }
    return 1;
}

static long number_of(const struct strv *part, const char *key)
{
    const char *value = pmi1_part_get(part, key);
    return value != NULL ? strtol(value, NULL, 10) : 0;
}

static int multi_line(struct pmi1_parse *p, const char *line, struct err *err)
{
    if (strcmp(line, "endcmd") != 0)
        return add_arg(p, line, strlen(line), err);
    p->multi = false;
    const struct strv *part = &p->cmd.parts[p->cmd.nparts - 1];
    return number_of(part, "spawnssofar") >= number_of(part, "totspawns") ? 1 : 0;
}

static int take_line(struct pmi1_parse *p, const char *line, struct err *err)
{
    if (p->multi)
        return multi_line(p, line, err);
    if (strncmp(line, "mcmd=", 5) == 0) {
        p->multi = true;
        return begin(p, line + 5, strlen(line + 5), err);
    }
    if (strncmp(line, "cmd=", 4) == 0 && p->name == NULL)
        return single_line(p, line, err);
    err_set(err, "\"%.*s\" is no PMI-1 command (cmd=NAME key=value ...)", SHOWN_MAX,
            line);
    return -1;
}

static int check_bytes(const uint8_t *line, size_t len, struct err *err)
{
    for (size_t i = 0; i < len; i++) {
        if (line[i] >= ' ' || line[i] == '\t')
            continue;
        err_set(err, "byte 0x%02x in column %zu of a line", line[i], i + 1);
        return -1;
    }
    return 0;
}

// One line as a string that the caller frees; NULL with *rc 0 (not whole) or -1.
static char *next_line(struct pmi1_parse *p, int *rc, struct err *err)
{
    size_t have = buf_len(&p->input);
    const uint8_t *data = have > 0 ? buf_data(&p->input) : NULL;
    const uint8_t *end =
        have > p->scanned ? memchr(data + p->scanned, '\n', have - p->scanned) : NULL;
    size_t len = end != NULL ? (size_t)(end - data) : have;
    *rc = 0;
    p->scanned = end != NULL ? 0 : have;
    if (len > PMI1_LINE_MAX) {
        err_set(err, "a line of more than %d bytes", PMI1_LINE_MAX);
        *rc = -1;
        return NULL;
    }
    if (end == NULL)
        return NULL;
    *rc = check_bytes(data, len, err);
    char *line = *rc == 0 ? xstrndup((const char *)data, len) : NULL;
    buf_take(&p->input, len + 1);
    return line;
}

int pmi1_parse_next(struct pmi1_parse *p, const struct pmi1_cmd **cmd, struct err *err)
{
    if (p->given)
        reset(p);
    for (;;) {
        int rc;
        CLEANUP_FREE char *line = next_line(p, &rc, err);
        if (line != NULL)
            rc = take_line(p, line, err);
        if (rc == 1) {
            p->given = true;
            *cmd = &p->cmd;
        }
        if (rc != 0 || line == NULL)
            return rc;
    }
}

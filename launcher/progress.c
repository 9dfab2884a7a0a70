// One line that says what a launch waits for.
#include "launcher/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/std.h"

enum { TTY_EVERY_MS = 50, PLAIN_FIRST_MS = 3000, PLAIN_EVERY_MS = 10000 };

struct progress {
    int fd;
    bool quiet, tty, shown;
    uint64_t first_ms, last_ms;
};

struct progress *progress_create(int fd, bool quiet)
{
    struct progress *p = xcalloc(1, sizeof *p);
    p->fd = fd;
    p->quiet = quiet;
    p->tty = isatty(fd) == 1;
    return p;
}

void progress_destroy(struct progress *p)
{
    if (p != NULL)
        progress_clear(p);
    free(p);
}

static void put(struct progress *p, const char *text)
{
    std_write(p->fd, text, strlen(text), 0); // nobody reads it: no reason to stop
}

// Bytes of `text` that fit into `columns`, whole characters only. What is not ASCII may
// be wide: it counts twice.
static int fitting(const char *text, int columns)
{
    int n = 0;
    while (text[n] != '\0') {
        int len = 1;
        while (((unsigned char)text[n + len] & 0xc0) == 0x80)
            len++;
        columns -= (unsigned char)text[n] < 0x80 ? 1 : 2;
        if (columns < 0)
            break;
        n += len;
    }
    return n;
}

void progress_show(struct progress *p, uint64_t now_ms, const char *text)
{
    if (p->quiet)
        return;
    if (p->first_ms == 0) {
        p->first_ms = now_ms;
        p->last_ms = p->tty ? 0 : now_ms + PLAIN_FIRST_MS - PLAIN_EVERY_MS;
    }
    if (now_ms < p->last_ms + (p->tty ? TTY_EVERY_MS : PLAIN_EVERY_MS))
        return;
    p->last_ms = now_ms;
    if (!p->tty) {
        CLEANUP_FREE char *line = xasprintf("muster: %s\n", text);
        put(p, line);
        return;
    }
    struct winsize ws = {0};
    int width =
        ioctl(p->fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0 ? ws.ws_col - 1 : 79;
    CLEANUP_FREE char *plain = xasprintf("muster: %s", text);
    CLEANUP_FREE char *line = xasprintf("\r\033[K%.*s", fitting(plain, width), plain);
    put(p, line);
    p->shown = true;
}

void progress_say(struct progress *p, const char *text)
{
    if (p->quiet)
        return;
    progress_clear(p);
    CLEANUP_FREE char *line = xasprintf("muster: %s\n", text);
    put(p, line);
}

void progress_clear(struct progress *p)
{
    if (p->shown)
        put(p, "\r\033[K");
    p->shown = false;
    p->first_ms = 0;
}

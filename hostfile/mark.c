// Telling own files from sources.
#include "hostfile/mark.h"

#include <string.h>

static const char mark[] = "# written by muster-sidecar";

void mark_append(struct buf *out, const char *source)
{
    buf_printf(out, "%s from %s: changes will be lost\n", mark, source);
}

bool mark_is_there(const char *text, size_t len)
{
    return len >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0;
}

// The names are glibc's.
#include "common/signame.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int signame_parse(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end != text && *end == '\0')
        return number > 0 && number < NSIG ? (int)number : 0;
    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    for (int i = 1; i < NSIG; i++) {
        const char *name = sigabbrev_np(i);
        if (name != NULL && strcasecmp(name, text) == 0)
            return i;
    }
    return 0;
}

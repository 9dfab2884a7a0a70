// Giving localhost its proper name.
#include "hostfile/localhost.h"

#include <string.h>

#include "hostfile/hostname.h"

int localhost_replace(struct members *m, const char *self, const char *file,
                      struct err *err)
{
    long i = members_find(m, "localhost", strlen("localhost"));
    if (self == NULL || m->n < 2 || i < 0 || hostname_is_localhost(self))
        return 0;
    struct place at = {.file = file, .line = m->v[i].line, .column = 1};
    long twin = members_find(m, self, strlen(self));
    if (twin >= 0 && at.line > 0)
        return place_fail(&at, 0, "HF_DUP_COUNT", err,
                          "localhost is this machine, %s, which stands on line %u too: "
                          "keep one of them",
                          self, m->v[twin].line);
    if (twin >= 0)
        return place_fail(
            &at, 0, "HF_DUP_COUNT", err,
            "localhost is this machine, %s, which is listed too: keep one "
            "of them",
            self);
    strv_add_steal(&m->warnings,
                   place_warning(&at, 0,
                                 "localhost means nothing to the other members: "
                                 "it is taken as this machine, %s",
                                 self));
    members_rename(m, "localhost", self);
    return 0;
}

// Where the key ring lies when nobody says.
#include <stdlib.h>

#include "common/mem.h"
#include "wire/keyring.h"

char *keyring_default_dir(const char *given)
{
    const char *env = getenv("MUSTER_KEY_DIR");
    if (given != NULL)
        return xstrdup(given);
    return xstrdup(env != NULL && env[0] != '\0' ? env : "/etc/muster/ssh");
}

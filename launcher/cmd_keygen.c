// muster keygen.
#include "launcher/cmd.h"

#include <stdio.h>

int cmd_keygen(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs("muster keygen: not built yet\n", stderr);
    return 125;
}

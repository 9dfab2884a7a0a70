// muster run.
#include "launcher/cmd.h"

#include <stdio.h>

int cmd_run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs("muster run: not built yet\n", stderr);
    return 125;
}

// muster roll.
#include "launcher/cmd.h"

#include <stdio.h>

int cmd_roll(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs("muster roll: not built yet\n", stderr);
    return 125;
}

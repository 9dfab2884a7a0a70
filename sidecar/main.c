// muster-sidecar: keeps /etc/hosts and the hostfiles current in a pod.
#include <stdio.h>
#include <string.h>

#include "config.h"

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("muster-sidecar %s\n", MUSTER_VERSION);
        return 0;
    }
    fputs("muster-sidecar: following a source is not part of this version yet; only "
          "--version is\n",
          stderr);
    return 125;
}

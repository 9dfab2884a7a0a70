// Looking for NVIDIA devices without their driver.
#include "kernels/check/gpu_here.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"

enum { PCI_NVIDIA = 0x10de, PCI_DISPLAY = 0x03, GPUS_MAX = 1024 };

static bool has_node(const char *root)
{
    static const char prefix[] = "nvidia";
    CLEANUP_FREE char *path = xasprintf("%s/dev", root);
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *d; dir != NULL && !found && (d = readdir(dir)) != NULL;)
        found = strncmp(d->d_name, prefix, sizeof prefix - 1) == 0;
    if (dir != NULL)
        closedir(dir);
    return found;
}

// A file of one number, as sysfs has them; 0: none.
static unsigned long read_number(const char *folder, const char *device,
                                 const char *name)
{
    char text[32] = "";
    CLEANUP_FREE char *path = xasprintf("%s/%s/%s", folder, device, name);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return strtoul(text, NULL, 0);
}

// Its class is 0x0300xx (VGA), 0x0302xx (3D), or another kind of display.
static bool is_gpu(const char *folder, const char *device)
{
    return device[0] != '.' && read_number(folder, device, "vendor") == PCI_NVIDIA &&
           read_number(folder, device, "class") >> 16 == PCI_DISPLAY;
}

static bool is_on_bus(const char *root)
{
    CLEANUP_FREE char *folder = xasprintf("%s/sys/bus/pci/devices", root);
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *d; dir != NULL && !found && (d = readdir(dir)) != NULL;)
        found = is_gpu(folder, d->d_name);
    if (dir != NULL)
        closedir(dir);
    return found;
}

bool gpu_here(const char *root)
{
    return has_node(root) || is_on_bus(root);
}

static bool says_nothing(const char *visible)
{
    return visible == NULL || strcmp(visible, "all") == 0 ||
           strcmp(visible, "none") == 0 || strcmp(visible, "void") == 0;
}

static bool is_part(const char *device)
{
    return strncmp(device, "MIG-", 4) == 0 || strchr(device, ':') != NULL;
}

static long count(const char *visible)
{
    STRV_AUTO devices = STRV_INIT;
    strv_add_split(&devices, visible, ',');
    for (size_t i = 0; i < devices.n; i++)
        if (is_part(devices.v[i]))
            return 1;
    return devices.n > 0 ? (long)devices.n : -1;
}

long gpu_here_promised(const char *gpus, const char *visible)
{
    char *end = NULL;
    long n = gpus != NULL ? strtol(gpus, &end, 10) : -1;
    if (n >= 0 && n <= GPUS_MAX && end != gpus && *end == '\0')
        return n;
    return says_nothing(visible) ? -1 : count(visible);
}

long gpu_here_expected(long option)
{
    if (option >= 0)
        return option;
    return gpu_here_promised(getenv("MUSTER_CHECK_GPUS"),
                             getenv("NVIDIA_VISIBLE_DEVICES"));
}

void gpu_here_settle(struct finding *f, long expected)
{
    if (f->verdict != FINDING_COULD_NOT_RUN || gpu_here(""))
        return;
    if (expected > 0)
        finding_fail(f, "no NVIDIA device is here, and %ld should be", expected);
    else
        finding_not_here(f, "no NVIDIA device is here");
}

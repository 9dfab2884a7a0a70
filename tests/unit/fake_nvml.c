// A stand-in for libnvidia-ml.so.1 with faults planted by $FAKE_NVML.
//
// "count=8 hang=NAME:2 fail=NAME:1:15 set=NAME:3:1": so many devices; that function never
// returns for device 2; it returns error 15 for device 1; its (last) number is 1 for device
// 3. NAME without "nvmlDeviceGet". Everything else is well.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES = 16, OK = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };

struct device {
    unsigned index;
};

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

struct event {
    struct device *device;
    unsigned long long type, data;
    unsigned gpu, compute;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int rc);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct device **d);
int nvmlDeviceGetName(struct device *d, char *text, unsigned size);
int nvmlDeviceGetUUID(struct device *d, char *text, unsigned size);
int nvmlDeviceGetPciInfo_v3(struct device *d, struct pci *pci);
int nvmlDeviceGetEccMode(struct device *d, unsigned *now, unsigned *later);
int nvmlDeviceGetTotalEccErrors(struct device *d, int type, int counter,
                                unsigned long long *n);
int nvmlDeviceGetRemappedRows(struct device *d, unsigned *corrected,
                              unsigned *uncorrected, unsigned *pending,
                              unsigned *failed);
int nvmlDeviceGetRetiredPages(struct device *d, int cause, unsigned *n,
                              unsigned long long *pages);
int nvmlDeviceGetRetiredPagesPendingStatus(struct device *d, unsigned *pending);
int nvmlDeviceGetCurrPcieLinkWidth(struct device *d, unsigned *width);
int nvmlDeviceGetMaxPcieLinkWidth(struct device *d, unsigned *width);
int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *degrees);
int nvmlDeviceGetTemperatureThreshold(struct device *d, int which, unsigned *degrees);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d,
                                              unsigned long long *reasons);
int nvmlEventSetCreate(void **set);
int nvmlDeviceRegisterEvents(struct device *d, unsigned long long types, void *set);
int nvmlEventSetWait_v2(void *set, struct event *event, unsigned ms);
int nvmlEventSetFree(void *set);

static struct device devices[DEVICES];

// The number behind "ACTION=NAME:DEVICE:"; -1: nobody planted it.
static long planted(const char *action, const char *name, unsigned index)
{
    char key[96];
    const char *plan = getenv("FAKE_NVML");
    snprintf(key, sizeof key, "%s=%s:%u", action, name, index);
    const char *at = plan != NULL ? strstr(plan, key) : NULL;
    if (at == NULL)
        return -1;
    at += strlen(key);
    return *at == ':' ? strtol(at + 1, NULL, 10) : 0;
}

static int result(const char *name, unsigned index)
{
    long fails = planted("fail", name, index);
    while (planted("hang", name, index) >= 0)
        pause();
    return fails >= 0 ? (int)fails : OK;
}

static int give(const char *name, const struct device *d, unsigned usual, unsigned *out)
{
    long set = planted("set", name, d->index);
    *out = set >= 0 ? (unsigned)set : usual;
    return result(name, d->index);
}

int nvmlInit_v2(void)
{
    return result("Init", 0);
}

int nvmlShutdown(void)
{
    return result("Shutdown", 0);
}

const char *nvmlErrorString(int rc)
{
    return rc == 15 ? "GPU is lost" : rc == 9 ? "Driver Not Loaded" : "some error";
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    const char *plan = getenv("FAKE_NVML");
    const char *at = plan != NULL ? strstr(plan, "count=") : NULL;
    *n = at != NULL ? (unsigned)atoi(at + 6) : 8;
    return result("Count", 0);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct device **d)
{
    devices[i].index = i;
    *d = &devices[i];
    return result("Handle", i);
}

int nvmlDeviceGetName(struct device *d, char *text, unsigned size)
{
    snprintf(text, size, "Stand-In %u", d->index);
    return OK;
}

int nvmlDeviceGetUUID(struct device *d, char *text, unsigned size)
{
    snprintf(text, size, "GPU-%08u", d->index);
    return OK;
}

int nvmlDeviceGetPciInfo_v3(struct device *d, struct pci *pci)
{
    *pci = (struct pci){.bus = 0x30 + d->index};
    return OK;
}

int nvmlDeviceGetEccMode(struct device *d, unsigned *now, unsigned *later)
{
    *later = 1;
    return give("EccMode", d, 1, now);
}

int nvmlDeviceGetTotalEccErrors(struct device *d, int type, int counter,
                                unsigned long long *n)
{
    unsigned v = 0;
    int rc = give(type == 1 ? "Uncorrected" : "Corrected", d, 0, &v);
    *n = v;
    return rc;
}

int nvmlDeviceGetRemappedRows(struct device *d, unsigned *corrected,
                              unsigned *uncorrected, unsigned *pending,
                              unsigned *failed)
{
    *corrected = *uncorrected = 0;
    give("RemapPending", d, 0, pending);
    return give("RemappedRows", d, 0, failed);
}

int nvmlDeviceGetRetiredPages(struct device *d, int cause, unsigned *n,
                              unsigned long long *pages)
{
    int rc = give("RetiredPages", d, 0, n);
    return rc == OK && *n > 0 ? INSUFFICIENT_SIZE : rc;
}

int nvmlDeviceGetRetiredPagesPendingStatus(struct device *d, unsigned *pending)
{
    return give("RetiredPagesPendingStatus", d, 0, pending);
}

int nvmlDeviceGetCurrPcieLinkWidth(struct device *d, unsigned *width)
{
    return give("CurrPcieLinkWidth", d, 16, width);
}

int nvmlDeviceGetMaxPcieLinkWidth(struct device *d, unsigned *width)
{
    return give("MaxPcieLinkWidth", d, 16, width);
}

int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *degrees)
{
    return give("Temperature", d, 41, degrees);
}

int nvmlDeviceGetTemperatureThreshold(struct device *d, int which, unsigned *degrees)
{
    return give("Threshold", d, which == 1 ? 87 : 92, degrees);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d,
                                              unsigned long long *reasons)
{
    unsigned v = 0;
    int rc = give("ThrottleReasons", d, 1, &v);
    *reasons = v;
    return rc;
}

int nvmlEventSetCreate(void **set)
{
    *set = devices;
    return OK;
}

int nvmlDeviceRegisterEvents(struct device *d, unsigned long long types, void *set)
{
    return types == 8 && set == devices ? OK : NOT_SUPPORTED;
}

// Each planted Xid comes once.
int nvmlEventSetWait_v2(void *set, struct event *event, unsigned ms)
{
    static unsigned next;
    for (; next < DEVICES; next++) {
        long xid = planted("xid", "Event", next);
        if (xid < 0)
            continue;
        *event = (struct event){&devices[next], 8, (unsigned long long)xid, 0, 0};
        next++;
        return OK;
    }
    return 10; // timeout
}

int nvmlEventSetFree(void *set)
{
    return set == devices ? OK : NOT_SUPPORTED;
}

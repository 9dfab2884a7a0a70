// Own prototypes, and one table of the simple questions.
#include "kernels/check/nvml.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/dynlib.h"
#include "common/mem.h"
#include "kernels/check/finding.h"
#include "kernels/check/supervise.h"

// nvmlReturn_t
enum {
    OK = 0,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    LIBRARY_NOT_FOUND = 12,
    FUNCTION_NOT_FOUND = 13,
};

enum { UNCORRECTED = 1, CORRECTED = 0, VOLATILE = 0, BY_SINGLE = 0, BY_DOUBLE = 1 };
enum { SENSOR_GPU = 0, THRESHOLD_SLOWDOWN = 1, EVENT_XID = 0x8 };

struct device; // nvmlDevice_t
struct events; // nvmlEventSet_t

struct pci_info { // nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct event { // nvmlEventData_t
    struct device *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

// Functions, as the library exports them. ONE and TWO: unsigned numbers are the answer.
struct calls {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*count)(unsigned *);
    int (*handle)(unsigned, struct device **);
    int (*name)(struct device *, char *, unsigned);
    int (*uuid)(struct device *, char *, unsigned);
    int (*pci_info)(struct device *, struct pci_info *);
    int (*ecc_mode)(struct device *, unsigned *, unsigned *);
    int (*ecc_total)(struct device *, int, int, unsigned long long *);
    int (*remapped)(struct device *, unsigned *, unsigned *, unsigned *, unsigned *);
    int (*pages)(struct device *, int, unsigned *, unsigned long long *);
    int (*pages_pending)(struct device *, unsigned *);
    int (*width)(struct device *, unsigned *);
    int (*width_max)(struct device *, unsigned *);
    int (*temperature)(struct device *, int, unsigned *);
    int (*temperature_at)(struct device *, int, unsigned *);
    int (*throttle)(struct device *, unsigned long long *);
    int (*events_create)(struct events **);
    int (*events_register)(struct device *, unsigned long long, struct events *);
    int (*events_wait)(struct events *, struct event *, unsigned);
    int (*events_free)(struct events *);
};

static const struct dynlib_symbol symbols[] = {
    {"nvmlInit_v2", offsetof(struct calls, init), true},
    {"nvmlShutdown", offsetof(struct calls, shutdown), true},
    {"nvmlErrorString", offsetof(struct calls, error_string), true},
    {"nvmlDeviceGetCount_v2", offsetof(struct calls, count), true},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct calls, handle), true},
    {"nvmlDeviceGetName", offsetof(struct calls, name), false},
    {"nvmlDeviceGetUUID", offsetof(struct calls, uuid), false},
    {"nvmlDeviceGetPciInfo_v3", offsetof(struct calls, pci_info), false},
    {"nvmlDeviceGetEccMode", offsetof(struct calls, ecc_mode), false},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct calls, ecc_total), false},
    {"nvmlDeviceGetRemappedRows", offsetof(struct calls, remapped), false},
    {"nvmlDeviceGetRetiredPages", offsetof(struct calls, pages), false},
    {"nvmlDeviceGetRetiredPagesPendingStatus", offsetof(struct calls, pages_pending),
     false},
    {"nvmlDeviceGetCurrPcieLinkWidth", offsetof(struct calls, width), false},
    {"nvmlDeviceGetMaxPcieLinkWidth", offsetof(struct calls, width_max), false},
    {"nvmlDeviceGetTemperature", offsetof(struct calls, temperature), false},
    {"nvmlDeviceGetTemperatureThreshold", offsetof(struct calls, temperature_at),
     false},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct calls, throttle),
     false},
    {"nvmlEventSetCreate", offsetof(struct calls, events_create), false},
    {"nvmlDeviceRegisterEvents", offsetof(struct calls, events_register), false},
    {"nvmlEventSetWait_v2", offsetof(struct calls, events_wait), false},
    {"nvmlEventSetFree", offsetof(struct calls, events_free), false},
};

struct nvml {
    struct calls call; // NULL where the library is older than the function
    struct events *events;
};

static const char *text_of(const struct nvml *n, int rc)
{
    const char *text = n->call.error_string(rc);
    return text != NULL ? text : "unknown error";
}

static int init(struct nvml *n, struct err *err)
{
    int rc = n->call.init();
    bool absent = rc == DRIVER_NOT_LOADED || rc == LIBRARY_NOT_FOUND;
    if (rc == OK)
        return 0;
    err_set_kind(err, NULL, absent ? FINDING_COULD_NOT_RUN : FINDING_FAIL,
                 "nvmlInit_v2: %s (%d)", text_of(n, rc), rc);
    return -1;
}

struct nvml *nvml_open(const char *path, struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    struct nvml *n = xcalloc(1, sizeof *n);
    if (dynlib_open(path, symbols, sizeof symbols / sizeof *symbols, &n->call, &why) <
        0)
        err_set_kind(err, NULL, FINDING_COULD_NOT_RUN, "no NVML here: %s",
                     err_text(&why));
    else if (init(n, err) == 0)
        return n;
    free(n);
    return NULL;
}

void nvml_close(struct nvml *n)
{
    if (n == NULL)
        return;
    if (n->events != NULL)
        n->call.events_free(n->events);
    n->call.shutdown();
    free(n);
}

int nvml_count(struct nvml *n, unsigned *count, struct err *err)
{
    int rc = n->call.count(count);
    if (rc != OK)
        err_set_kind(err, NULL, FINDING_FAIL, "nvmlDeviceGetCount_v2: %s (%d)",
                     text_of(n, rc), rc);
    return rc == OK ? 0 : -1;
}

// One look at one device: what it is asked, and what became of it.
struct look {
    struct nvml *n;
    struct device *device;
    struct nvml_device *d;
    struct stages *stages;
    size_t slot;
};

static void ask(struct look *l, const char *what)
{
    stages_set(l->stages, l->slot, "device %u: %s", l->d->index, what);
}

// False: there is no answer. That a device has no such thing is no error.
static bool answered(struct look *l, const char *what, int rc)
{
    bool lacks = rc == NOT_SUPPORTED || rc == NO_PERMISSION ||
                 rc == FUNCTION_NOT_FOUND || rc == NOT_FOUND;
    if (rc != OK && !lacks && l->d->lost[0] == '\0')
        snprintf(l->d->lost, sizeof l->d->lost, "%s: %s (%d)", what, text_of(l->n, rc),
                 rc);
    return rc == OK;
}

static struct nvml_value value(uint64_t v)
{
    return (struct nvml_value){true, v};
}

static void look_one(struct look *l, const char *what,
                     int (*call)(struct device *, unsigned *), struct nvml_value *out)
{
    unsigned v = 0;
    if (call == NULL)
        return;
    ask(l, what);
    if (answered(l, what, call(l->device, &v)))
        *out = value(v);
}

static void look_kind(struct look *l, const char *what,
                      int (*call)(struct device *, int, unsigned *), int kind,
                      struct nvml_value *out)
{
    unsigned v = 0;
    if (call == NULL)
        return;
    ask(l, what);
    if (answered(l, what, call(l->device, kind, &v)))
        *out = value(v);
}

static void look_names(struct look *l)
{
    struct pci_info pci = {0};
    struct nvml_device *d = l->d;
    const struct calls *c = &l->n->call;
    ask(l, "nvmlDeviceGetName");
    if (c->name != NULL)
        answered(l, "nvmlDeviceGetName", c->name(l->device, d->name, NVML_TEXT));
    ask(l, "nvmlDeviceGetUUID");
    if (c->uuid != NULL)
        answered(l, "nvmlDeviceGetUUID", c->uuid(l->device, d->uuid, NVML_TEXT));
    ask(l, "nvmlDeviceGetPciInfo_v3");
    if (c->pci_info != NULL &&
        answered(l, "nvmlDeviceGetPciInfo_v3", c->pci_info(l->device, &pci)))
        snprintf(d->bus_id, sizeof d->bus_id, "%04x:%02x:%02x.0", pci.domain, pci.bus,
                 pci.device);
}

static void look_ecc(struct look *l)
{
    static const char mode[] = "nvmlDeviceGetEccMode";
    static const char total[] = "nvmlDeviceGetTotalEccErrors";
    unsigned on = 0, pending = 0;
    unsigned long long v = 0;
    const struct calls *c = &l->n->call;
    ask(l, mode);
    if (c->ecc_mode != NULL && answered(l, mode, c->ecc_mode(l->device, &on, &pending)))
        l->d->ecc_on = value(on);
    ask(l, total);
    if (c->ecc_total == NULL || l->d->ecc_on.v == 0)
        return;
    if (answered(l, total, c->ecc_total(l->device, UNCORRECTED, VOLATILE, &v)))
        l->d->uncorrected = value(v);
    if (answered(l, total, c->ecc_total(l->device, CORRECTED, VOLATILE, &v)))
        l->d->corrected = value(v);
}

static void look_rows(struct look *l)
{
    static const char what[] = "nvmlDeviceGetRemappedRows";
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    if (l->n->call.remapped == NULL)
        return;
    ask(l, what);
    if (!answered(l, what,
                  l->n->call.remapped(l->device, &corrected, &uncorrected, &pending,
                                      &failed)))
        return;
    l->d->rows_corrected = value(corrected);
    l->d->rows_uncorrected = value(uncorrected);
    l->d->rows_pending = value(pending);
    l->d->rows_failed = value(failed);
}

// How many there are; their addresses are not asked for.
static void look_pages(struct look *l, int cause, struct nvml_value *out)
{
    static const char what[] = "nvmlDeviceGetRetiredPages";
    unsigned count = 0;
    if (l->n->call.pages == NULL)
        return;
    ask(l, what);
    int rc = l->n->call.pages(l->device, cause, &count, NULL);
    if (answered(l, what, rc == INSUFFICIENT_SIZE ? OK : rc))
        *out = value(count);
}

static void look_throttle(struct look *l)
{
    static const char what[] = "nvmlDeviceGetCurrentClocksThrottleReasons";
    unsigned long long reasons = 0;
    if (l->n->call.throttle == NULL)
        return;
    ask(l, what);
    if (answered(l, what, l->n->call.throttle(l->device, &reasons)))
        l->d->throttle = value(reasons);
}

void nvml_look(struct nvml *n, unsigned index, struct nvml_device *d,
               struct stages *stages, size_t slot)
{
    const struct calls *c = &n->call;
    struct look l = {n, NULL, d, stages, slot};
    *d = (struct nvml_device){.index = index};
    ask(&l, "nvmlDeviceGetHandleByIndex_v2");
    if (!answered(&l, "nvmlDeviceGetHandleByIndex_v2", c->handle(index, &l.device))) {
        if (d->lost[0] == '\0')
            snprintf(d->lost, sizeof d->lost, "it may not be asked");
        return;
    }
    look_names(&l);
    look_ecc(&l);
    look_rows(&l);
    look_pages(&l, BY_SINGLE, &d->pages_single);
    look_pages(&l, BY_DOUBLE, &d->pages_double);
    look_one(&l, "nvmlDeviceGetRetiredPagesPendingStatus", c->pages_pending,
             &d->pages_pending);
    look_one(&l, "nvmlDeviceGetCurrPcieLinkWidth", c->width, &d->pcie_width);
    look_one(&l, "nvmlDeviceGetMaxPcieLinkWidth", c->width_max, &d->pcie_width_max);
    look_kind(&l, "nvmlDeviceGetTemperature", c->temperature, SENSOR_GPU,
              &d->temperature);
    look_kind(&l, "nvmlDeviceGetTemperatureThreshold", c->temperature_at,
              THRESHOLD_SLOWDOWN, &d->slowdown_at);
    look_throttle(&l);
    stages_set(stages, slot, "%s", "");
}

void nvml_watch_xids(struct nvml *n, const struct nvml_device *devices, size_t ndevices,
                     struct stages *stages, size_t slot)
{
    const struct calls *c = &n->call;
    stages_set(stages, slot, "nvmlEventSetCreate");
    if (c->events_create == NULL || c->events_register == NULL ||
        c->events_wait == NULL || c->events_free == NULL ||
        c->events_create(&n->events) != OK) {
        n->events = NULL;
        return;
    }
    for (size_t i = 0; i < ndevices; i++) {
        unsigned index = devices[i].index;
        struct device *device = NULL;
        stages_set(stages, slot, "device %u: nvmlDeviceGetHandleByIndex_v2", index);
        if (c->handle(index, &device) != OK)
            continue;
        stages_set(stages, slot, "device %u: nvmlDeviceRegisterEvents", index);
        c->events_register(device, EVENT_XID, n->events);
    }
}

void nvml_take_xids(struct nvml *n, struct nvml_device *devices, size_t ndevices)
{
    struct event e = {0};
    while (n->events != NULL && n->call.events_wait(n->events, &e, 0) == OK) {
        for (size_t i = 0; i < ndevices; i++) {
            struct device *device = NULL;
            if (n->call.handle(devices[i].index, &device) == OK && device == e.device)
                devices[i].xid = e.data;
        }
    }
}

// NVIDIA's management library, opened at run time: what nvprobe asks it.
//
// No header of NVIDIA's is needed: the prototypes in nvml.c follow the NVML API reference
// (its ABI does not change; newer forms of a function get a new suffix). Every call can
// block for ever on a sick GPU: only a supervised child makes them.
#ifndef MUSTER_KERNELS_CHECK_NVML_H
#define MUSTER_KERNELS_CHECK_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct nvml;
struct stages;

enum { NVML_TEXT = 96 };

// A number that not every device has.
struct nvml_value {
    bool known;
    uint64_t v;
};

// What a device says of itself.
struct nvml_device {
    unsigned index;
    char name[NVML_TEXT], uuid[NVML_TEXT];
    char bus_id[NVML_TEXT];        // "0000:3b:00.0"
    struct nvml_value ecc_on;      // 0 or 1
    struct nvml_value uncorrected; // volatile ECC errors, since the driver was loaded
    struct nvml_value corrected;
    struct nvml_value rows_corrected, rows_uncorrected; // remapped rows
    struct nvml_value rows_pending, rows_failed;        // 0 or 1
    struct nvml_value pages_single, pages_double;       // retired pages, by cause
    struct nvml_value pages_pending;                    // 0 or 1
    struct nvml_value pcie_width, pcie_width_max;
    struct nvml_value temperature, slowdown_at; // degrees Celsius
    struct nvml_value throttle;                 // NVML_THROTTLE_*
    uint64_t xid; // one that came while the probe looked; 0: none
    char lost[NVML_TEXT *
              2]; // why it answers no more: the call, and the error; "": it does
};

// nvmlClocksThrottleReasons: those that speak of the hardware.
enum {
    NVML_THROTTLE_HW_SLOWDOWN = 0x08,
    NVML_THROTTLE_HW_THERMAL = 0x40,
    NVML_THROTTLE_HW_POWER_BRAKE = 0x80,
};

// path: of the library. err->code 2 (could not run): there is none, or no driver.
// Any other failure of nvmlInit is the driver's word that something is wrong: err->code 1.
struct nvml *nvml_open(const char *path, struct err *err);
void nvml_close(struct nvml *n); // NULL-safe; can block, as all of this

int nvml_count(struct nvml *n, unsigned *count, struct err *err);
// Asks for everything; what a device does not support stays unknown. `stages` is told of
// each call, in `slot`.
void nvml_look(struct nvml *n, unsigned index, struct nvml_device *d,
               struct stages *stages, size_t slot);
// Xids that the driver raises from here on reach nvml_take_xids().
void nvml_watch_xids(struct nvml *n, const struct nvml_device *devices, size_t ndevices,
                     struct stages *stages, size_t slot);
void nvml_take_xids(struct nvml *n, struct nvml_device *devices, size_t ndevices);

#endif

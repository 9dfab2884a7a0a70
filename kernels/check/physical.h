// Where a page of this process lies in the machine's memory.
#ifndef MUSTER_KERNELS_CHECK_PHYSICAL_H
#define MUSTER_KERNELS_CHECK_PHYSICAL_H

#include <stdint.h>

// 0: the kernel does not tell it to everybody (CAP_SYS_ADMIN).
uint64_t physical_address(uintptr_t address);

#endif

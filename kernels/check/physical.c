// /proc/self/pagemap: one 64-bit entry a page (Linux, Documentation/admin-guide/mm/pagemap).
#include "kernels/check/physical.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/mem.h"

#define FRAME   ((UINT64_C(1) << 55) - 1)
#define PRESENT (UINT64_C(1) << 63)

uint64_t physical_address(uintptr_t address)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entry = 0;
    CLEANUP_CLOSE int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t at = (off_t)(address / page * sizeof entry);
    if (fd < 0 || pread(fd, &entry, sizeof entry, at) != sizeof entry)
        return 0;
    uint64_t frame = entry & FRAME;
    if ((entry & PRESENT) == 0 || frame == 0)
        return 0;
    return frame * page + address % page;
}

// CRC-32 as zlib, PNG and Ethernet have it (polynomial 0xEDB88320, reflected).
#ifndef MUSTER_COMMON_CRC32_H
#define MUSTER_COMMON_CRC32_H

#include <stddef.h>
#include <stdint.h>

// The CRC of what came before and these bytes; 0 before the first. Eight bytes at a time.
uint32_t crc32_add(uint32_t crc, const void *p, size_t n);

#endif

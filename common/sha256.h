// SHA-256 (FIPS 180-4) of bytes in memory: names content, guards no secret.
#ifndef MUSTER_COMMON_SHA256_H
#define MUSTER_COMMON_SHA256_H

#include <stddef.h>

enum { SHA256_HEX = 65 }; // 64 digits and the final NUL

// The digest of n bytes in hexadecimal, as sha256sum(1) prints it.
void sha256_hex(const void *data, size_t n, char out[SHA256_HEX]);

#endif

// How long a negative DNS answer may be believed. Pure.
#ifndef MUSTER_HOSTFILE_DNS_SOA_H
#define MUSTER_HOSTFILE_DNS_SOA_H

#include <stddef.h>
#include <stdint.h>

// Seconds (RFC 2308, section 5): of the SOA in the authority section the lesser of TTL and
// MINIMUM. 0: there is none, or the reply cannot be read.
uint32_t dns_soa_ttl(const unsigned char *reply, size_t len);

#endif

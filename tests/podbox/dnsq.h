// One DNS question over UDP, to see for ourselves what the server answers.
#ifndef MUSTER_PODBOX_DNSQ_H
#define MUSTER_PODBOX_DNSQ_H

#include <netinet/in.h>
#include <stdbool.h>

enum { DNSQ_A = 1, DNSQ_SOA = 6 };

struct dnsq {
    int rcode; // 0 NOERROR, 3 NXDOMAIN
    bool truncated;
    unsigned answers;
    struct in_addr first; // of a type A answer
};

// Ask on a connected UDP socket; false when no answer came within ms.
bool dnsq_ask(int fd, const char *name, int type, int ms, struct dnsq *out);

#endif

// The way between the GPUs of two ends, by NCCL: collectives of which every element is known.
//
// Once the two have met (net_meet.h):
//
//   dialler                         listener
//   GPUs, 0: none, or no NCCL;
//   1: NCCL or nothing ->           <- the same
//                                   <- NCCL's unique id
//   ranks: the listener's GPUs, then the dialler's; a first sum on all, to see how long it takes
//   most words a buffer ->          <- most words a buffer
// and then, as long as both have time for it, NET_ROUNDS times
//   sums of one word; a broadcast from the dialler's first GPU, one from the listener's, a sum
// after each of which both say what they found.
//
// A pattern's word is what a broadcast has. In a sum rank r gives 2r + 1 times the word, so that all
// get it times ranks^2: modulo 2^64, as NCCL adds.
#ifndef MUSTER_KERNELS_CHECK_NET_NCCL_H
#define MUSTER_KERNELS_CHECK_NET_NCCL_H

#include "kernels/check/net_gpus.h"
#include "kernels/check/net_pair.h"

enum net_nccl_kind { NET_NCCL_SENT, NET_NCCL_RECEIVED, NET_NCCL_SUM, NET_NCCL_KINDS };

struct net_nccl_got {
    struct net_got got;
    unsigned rank; // whose buffer has the first wrong element
};

struct net_nccl {
    int fd;
    bool dials;
    uint64_t seed, bytes,
        transfer_ms; // bytes: of a buffer; a transfer takes about so long at most
    uint64_t until_ms;
    struct stages *stages;
    struct net_gpus *gpus; // borrowed; NULL: this end has none
    bool only;             // it goes by NCCL or not at all

    unsigned others;  // the other end's GPUs
    bool others_only; // as only
    unsigned rounds;  // done
    double rtt_us;    // a sum of one word; best of the rounds' medians
    struct net_nccl_got best[NET_NCCL_KINDS]; // a wrong one stays
};

// Both ends say what they have: others and others_only are set then.
int net_nccl_offer(struct net_nccl *p, struct err *err);
// Both have some.
int net_nccl_run(struct net_nccl *p, struct err *err);
// Of this end: rank of its first GPU. Rank -> is it one of this end's, and which?
bool net_nccl_own(const struct net_nccl *p, unsigned rank, unsigned *gpu);

#endif

// The programs of a world (muster.proto, Prepare): they have its ranks in order. Pure.
#ifndef MUSTER_WIRE_APPS_H
#define MUSTER_WIRE_APPS_H

#include "wire/muster.pb-c.h"

// Index of the app that a rank runs; the last one has all that are left.
uint32_t apps_of(const Muster__Prepare *p, uint32_t rank);

#endif

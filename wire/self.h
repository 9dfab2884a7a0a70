// What a program says of itself in its Hello.
#ifndef MUSTER_WIRE_SELF_H
#define MUSTER_WIRE_SELF_H

#include "wire/muster.pb-c.h"

struct self;

// A new incarnation; role "launcher", "agent" or "client" (static string).
struct self *self_create(const char *role);
const Muster__Hello *self_hello(const struct self *s); // lives as long as self
void self_destroy(struct self *s);

#endif

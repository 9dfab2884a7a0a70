// The own Hello: incarnation, hostname, CPUs.
#include "wire/self.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/mem.h"
#include "config.h"
#include "wire/frame.h"

enum { INCARNATION_BYTES = 16 };

struct self {
    Muster__Hello hello;
    uint8_t incarnation[INCARNATION_BYTES];
    char hostname[256];
    char version[32];
    char role[16];
};

static uint32_t usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN); // more CPUs than a cpu_set_t holds
    return n > 0 ? (uint32_t)n : 1;
}

struct self *self_create(const char *role)
{
    struct self *s = xcalloc(1, sizeof *s);
    while (getrandom(s->incarnation, sizeof s->incarnation, 0) !=
           (ssize_t)sizeof s->incarnation)
        ;
    if (gethostname(s->hostname, sizeof s->hostname - 1) < 0)
        s->hostname[0] = '\0';
    snprintf(s->version, sizeof s->version, "%s", MUSTER_VERSION);
    snprintf(s->role, sizeof s->role, "%s", role);
    muster__hello__init(&s->hello);
    s->hello.major = WIRE_MAJOR;
    s->hello.minor = WIRE_MINOR;
    s->hello.version = s->version;
    s->hello.role = s->role;
    s->hello.incarnation.data = s->incarnation;
    s->hello.incarnation.len = sizeof s->incarnation;
    s->hello.hostname = s->hostname;
    s->hello.cpus = usable_cpus();
    s->hello.uid = (uint32_t)getuid();
    return s;
}

const Muster__Hello *self_hello(const struct self *s)
{
    return &s->hello;
}

void self_destroy(struct self *s)
{
    free(s);
}

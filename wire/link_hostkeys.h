// Which host keys of sshd are trusted besides the group's own: a known_hosts file, or any.
// Pure but for libssh's key parsing.
#ifndef MUSTER_WIRE_LINK_HOSTKEYS_H
#define MUSTER_WIRE_LINK_HOSTKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/strv.h"

struct link_hostkeys;
struct ssh_key_struct;

enum link_hostkeys_mode {
    LINK_HOSTKEYS_GROUP, // the keys of the group's ring: mpi-operator's images, musterd
    LINK_HOSTKEYS_FILE,  // and those that known_hosts has for the host
    LINK_HOSTKEYS_ANY,   // all: who can take a member's address can pose as it
};

// Lines of a known_hosts file, comments and blank ones too. `file` is for texts. Names may
// be hashed; markers (@revoked, @cert-authority) are refused, as is a malformed line:
// err names file and line.
struct link_hostkeys *link_hostkeys_create(enum link_hostkeys_mode mode,
                                           char *const *lines, size_t n,
                                           const char *file, struct err *err);
void link_hostkeys_destroy(struct link_hostkeys *h); // NULL-safe

enum link_hostkeys_mode link_hostkeys_mode(const struct link_hostkeys *h);
// Is this key trusted for a host that is known as any of `names` on this port?
bool link_hostkeys_trust(const struct link_hostkeys *h, const char *const *names,
                         size_t nnames, uint16_t port, struct ssh_key_struct *key);
// Algorithms to ask the host for: the types that the file has for it first. NULL: no
// wish. Caller frees.
char *link_hostkeys_types(const struct link_hostkeys *h, const char *const *names,
                          size_t nnames, uint16_t port);

#endif

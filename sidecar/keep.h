// What muster-sidecar keeps current: /etc/hosts and hostfiles.
#ifndef MUSTER_SIDECAR_KEEP_H
#define MUSTER_SIDECAR_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostfile/dialect.h"
#include "hostfile/roll.h"
#include "hostfile/source.h"

struct keep;
struct watch;

struct keep_hostfile {
    const struct dialect *dialect;
    const char *path;
};

struct keep_conf {
    struct event_base *base;
    struct watch *watch; // NULL: polling
    struct log *log;
    const struct source_spec *spec; // NULL: only rolls are kept
    const char *hosts;              // NULL: /etc/hosts is not kept
    bool any_hosts;                 // even where kubelet did not make it
    const struct keep_hostfile *hostfiles;
    size_t nhostfiles;
    bool by_name;    // hostfiles name members, not addresses
    size_t nmembers; // hostfiles wait for so many; 0: for none
};

// Locks everything. A hosts file that cannot be written (HOSTS_READONLY,
// HOSTS_FOREIGN_FILE) is an error where nothing else is kept, and a warning else.
struct keep *keep_create(const struct keep_conf *conf, struct err *err);
void keep_destroy(struct keep *k); // NULL-safe; all files stay

// Writes what changed. A member that is listed and has no address now keeps the one that
// it had, unless another one has it by now. Failures are logged, once each, and tried
// again with the next update, or by keep_retry().
void keep_update(struct keep *k, const struct members *members);
void keep_retry(struct keep *k);
// As keep_update(), of a launcher's roll, until the next keep_update(): all members go to
// /etc/hosts, and hostfiles list the positions in their order, however many there are. -1
// with err, and nothing is changed, for a roll with a loopback address: it means another
// machine on each pod.
int keep_apply(struct keep *k, const struct roll *r, struct err *err);
// Why a file could not be written, as it was logged; NULL: nothing failed.
const char *keep_failure(const struct keep *k);
// Is everything written, of a group that is whole? *why says what is missing (NULL: it
// does not matter); caller frees.
bool keep_is_done(const struct keep *k, char **why);

// Numbers change whenever members do: an address, too. 0: none are known yet.
uint64_t keep_generation(const struct keep *k);
// Borrowed until the next update: with the addresses that they had.
const struct members *keep_members(const struct keep *k);

struct keep_file {
    const char *path; // borrowed
    bool current;     // as the members are
    bool failed;      // the last try to write it
    uint64_t writes, failures;
};
// The files that are kept, /etc/hosts first; false: there are no more.
bool keep_file(const struct keep *k, size_t i, struct keep_file *out);
// Does every file say what is known of the members?
bool keep_is_written(const struct keep *k);

// Dry run: appends what would change in each file; takes no lock.
int keep_diff(const struct keep_conf *conf, const struct members *members,
              struct buf *out, struct err *err);

#endif

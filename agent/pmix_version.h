// Versions of libpmix: this server's, and that of the ranks, which bring their own.
//
// libpmix negotiates its encodings when a client connects, so that most calls work between
// any two of 3.2 to 5.0. Two things do not, and are refused here with both versions, where
// libpmix would let every rank misread its answer:
// - groups: 4.2.4 changed their messages for all clients, whatever these understand;
// - direct modex for clients before 4.0: the answer that comes from another server is
//   packed as this server's own clients would read it (pmix_pending_resolve).
#ifndef MUSTER_AGENT_PMIX_VERSION_H
#define MUSTER_AGENT_PMIX_VERSION_H

#include <stdbool.h>

#include "common/err.h"

struct pmixd_version {
    unsigned major, minor, release;
};

enum pmixd_feature { PMIXD_GROUPS, PMIXD_MODEX };

enum { PMIXD_VERSION_TEXT = 40 };
// "4.2.2"
void pmixd_version_text(const struct pmixd_version *v, char text[PMIXD_VERSION_TEXT]);

// The first number in text: "OpenPMIx 4.2.2rc1 (PMIx Standard: ...)", "5.0.7". False: none.
bool pmixd_version_parse(const char *text, struct pmixd_version *v);
bool pmixd_version_fits(enum pmixd_feature feature, const struct pmixd_version *server,
                        const struct pmixd_version *client);

// The server's own libpmix, as it is loaded.
void pmixd_version_of_server(struct pmixd_version *v);
// Of the namespace's ranks on this pod, once the first has connected; else false. Waits for
// libpmix's thread: not to be called in an upcall.
bool pmixd_version_of_ranks(const char *nspace, struct pmixd_version *v);

// 0 when the namespace's ranks and this server can do it together, or the ranks' version is
// not known; else -1 with the reason, which begins with "PMIX_VERSION".
int pmixd_version_check(enum pmixd_feature feature, const char *nspace,
                        struct err *err);

#endif

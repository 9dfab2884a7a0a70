// Versions of libpmix: this server's, and that of the ranks, which bring their own.
//
// libpmix negotiates its encodings when a client connects, so that most calls work between
// any two of 3.2 to 5.0. Groups do not: 4.2.4 changed their messages without telling the
// other side's version apart, and what is read wrongly is an error in every rank or a wrong
// id in none of them noticed.
#ifndef MUSTER_AGENT_PMIX_VERSION_H
#define MUSTER_AGENT_PMIX_VERSION_H

#include <stdbool.h>

#include "common/err.h"

struct pmixd_version {
    unsigned major, minor, release;
};

enum { PMIXD_VERSION_TEXT = 40 };
// "4.2.2"
void pmixd_version_text(const struct pmixd_version *v, char text[PMIXD_VERSION_TEXT]);

// The first number in text: "OpenPMIx 4.2.2rc1 (PMIx Standard: ...)", "5.0.7". False: none.
bool pmixd_version_parse(const char *text, struct pmixd_version *v);
// Whether groups can be made between a server and a client of these versions.
bool pmixd_version_groups_fit(const struct pmixd_version *server,
                              const struct pmixd_version *client);

// The server's own libpmix, as it is loaded.
void pmixd_version_of_server(struct pmixd_version *v);
// Of the namespace's ranks on this pod, once the first has connected; else false. Waits for
// libpmix's thread: not to be called in an upcall.
bool pmixd_version_of_ranks(const char *nspace, struct pmixd_version *v);

// 0 when the namespace's ranks and this server can make groups, or the ranks' version is
// not known; else -1 with the reason, which begins with "PMIX_VERSION".
int pmixd_version_check_groups(const char *nspace, struct err *err);

#endif

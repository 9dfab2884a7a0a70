// Options of `muster run`.
#ifndef MUSTER_LAUNCHER_OPTS_H
#define MUSTER_LAUNCHER_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/strv.h"
#include "hostfile/source.h"
#include "hostfile/source_opts.h"
#include "launcher/apps_opts.h"
#include "launcher/check_opts.h"
#include "launcher/map.h"
#include "launcher/output.h"
#include "launcher/policy.h"
#include "launcher/roles_opts.h"
#include "launcher/via_opts.h"

struct opts {
    struct source_opts from;   // as parsed
    struct source_spec source; // of `from`
    uint32_t members;          // how many the group has; 0: not said
    struct map_request map;
    struct via_opts via;
    const char *job;       // --job, or what `musterd --lead` says; NULL: neither
    bool rerun, adopt;     // --rerun, --adopt
    const char *order;     // which --rerun it is (claim.h); NULL: one of its own
    const char *key;       // --key: key ring directory; NULL: the default
    const char *events;    // --events
    const char *status;    // --status: where pages are served; NULL: nowhere
    const char *pmi;       // --pmi: "auto", "pmix", "pmi1" or "none"
    struct apps_opts apps; // programs; their -n are in map.ranks, too
    struct roles_opts roles;
    struct check_opts check;
    bool per_node;              // --per-node
    uint32_t subgroup;          // --grid-subgroup: members of one; 0: there are none
    bool subgroup_leader_apart; // as LeaderWorkerSet's LeaderExcluded
    uint32_t input;             // --stdin, as Prepare.input
    struct output_style output; // --tag-output and its kin
    uint32_t wait_ms;           // --wait: bound for finding and connecting members
    uint32_t grace_ms;          // --grace: SIGTERM to SIGKILL
    uint32_t pre_stop_signal;   // --pre-stop-signal; 0: none
    uint32_t pre_stop_ms;       // --pre-stop-grace
    uint32_t heartbeat_ms;      // --heartbeat
    uint32_t orphan_grace_ms;   // --orphan-grace
    uint32_t link_grace_ms;     // --link-grace; no more than the orphan grace counts
    uint32_t timeout_ms;        // --timeout: of the ranks' run; 0: none
    struct policy_conf policy;  // --on-failure and its kin
    const char
        *restart_option; // the last of those that need --on-failure restart; NULL
    uint32_t replace_timeout_ms; // --replace-timeout
    uint32_t spares;             // --spares: members that get no ranks at first
    uint32_t avoid_ms;           // --avoid: a member that has failed
    const char *replace_hook;    // --replace-hook: a program; NULL: none
    uint32_t fanout;
    bool quiet, verbose;
    char **argv; // all from the first program on; borrowed from main's argv
    int argc;
};

// As without any option; opts_free() then.
void opts_init(struct opts *o);
// Parses; prints help, usage or one error and exits through *code when it returns -1.
int opts_parse(struct opts *o, int argc, char **argv, int *code);
void opts_free(struct opts *o);

#endif

// Which libpmix is at either end, and what two of them cannot do together.
#include "agent/pmix_version.h"

#include <pmix.h>
#include <stdio.h>
#include <string.h>

// The key under which libpmix, 4.0 to 5.0, keeps the version that a namespace's first
// client has said; libpmix's own PMIx_Data_pack asks for it in the same way.
#define KEY_CLIENT_VERSION "pmix.bfrops.mod"

bool pmixd_version_parse(const char *text, struct pmixd_version *v)
{
    *v = (struct pmixd_version){0};
    text += strcspn(text, "0123456789");
    return sscanf(text, "%u.%u.%u", &v->major, &v->minor, &v->release) >= 2;
}

void pmixd_version_text(const struct pmixd_version *v, char text[PMIXD_VERSION_TEXT])
{
    snprintf(text, PMIXD_VERSION_TEXT, "%u.%u.%u", v->major, v->minor, v->release);
}

// Replies with the group's members, and leaving with them: from 4.2.4 on.
static bool tells_members(const struct pmixd_version *v)
{
    static const struct pmixd_version since = {4, 2, 4};
    if (v->major != since.major)
        return v->major > since.major;
    if (v->minor != since.minor)
        return v->minor > since.minor;
    return v->release >= since.release;
}

bool pmixd_version_fits(enum pmixd_feature feature, const struct pmixd_version *server,
                        const struct pmixd_version *client)
{
    if (feature == PMIXD_GROUPS)
        return tells_members(server) == tells_members(client);
    return client->major >= 4;
}

void pmixd_version_of_server(struct pmixd_version *v)
{
    pmixd_version_parse(PMIx_Get_version(), v);
}

bool pmixd_version_of_ranks(const char *nspace, struct pmixd_version *v)
{
    pmix_proc_t all;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&all, KEY_CLIENT_VERSION, NULL, 0, &value) != PMIX_SUCCESS ||
        value == NULL)
        return false;
    bool known =
        value->type == PMIX_STRING && pmixd_version_parse(value->data.string, v);
    PMIX_VALUE_RELEASE(value);
    return known;
}

static const char *remedy(enum pmixd_feature feature, const struct pmixd_version *ranks)
{
    if (feature == PMIXD_MODEX)
        return "data of single ranks of other pods (MPI_Comm_spawn over several pods, "
               "pmix_base_async_modex) cannot be had before 4.0: give their MPI a "
               "newer "
               "libpmix, or spawn on the parents' pod only";
    if (tells_members(ranks))
        return "process groups (MPI sessions) work only when both are older than 4.2.4 "
               "or neither is: start agents whose muster-pmixd has 4.2.4 or newer";
    return "process groups work only when both are older than 4.2.4 or neither is: "
           "give "
           "the ranks 4.2.4 or newer";
}

int pmixd_version_check(enum pmixd_feature feature, const char *nspace, struct err *err)
{
    struct pmixd_version server, ranks;
    char ours[PMIXD_VERSION_TEXT], theirs[PMIXD_VERSION_TEXT];
    pmixd_version_of_server(&server);
    if (!pmixd_version_of_ranks(nspace, &ranks) ||
        pmixd_version_fits(feature, &server, &ranks))
        return 0;
    pmixd_version_text(&server, ours);
    pmixd_version_text(&ranks, theirs);
    err_set(err, "PMIX_VERSION: the ranks use libpmix %s and muster-pmixd %s: %s",
            theirs, ours, remedy(feature, &ranks));
    return -1;
}

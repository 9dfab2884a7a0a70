// Ways to members through sshd.
#include "wire/via.h"

#include <stdlib.h>

#include "common/mem.h"
#include "wire/agent_files.h"
#include "wire/link_hostkeys.h"

struct via {
    const Muster__Via *m;
    struct agent_files *files;      // NULL: nothing is brought
    struct link_hostkeys *hostkeys; // NULL: the group's only
};

struct via *via_create(const Muster__Via *m, const char *own_musterd, struct err *err)
{
    struct via *v = xcalloc(1, sizeof *v);
    v->m = m;
    if (m->push && own_musterd == NULL)
        err_set(err,
                "--push-agent: the path of this program's own musterd is not known");
    else if (m->push)
        v->files = agent_files_load(own_musterd, err);
    bool ok = !m->push || v->files != NULL;
    if (ok && m->host_keys_mode != LINK_HOSTKEYS_GROUP) {
        v->hostkeys =
            link_hostkeys_create((enum link_hostkeys_mode)m->host_keys_mode,
                                 m->host_keys, m->n_host_keys, m->host_keys_file, err);
        ok = v->hostkeys != NULL;
    }
    if (ok)
        return v;
    via_destroy(v);
    return NULL;
}

void via_destroy(struct via *v)
{
    if (v == NULL)
        return;
    agent_files_destroy(v->files);
    link_hostkeys_destroy(v->hostkeys);
    free(v);
}

struct link_via via_of_member(const struct via *v, const Muster__Member *member)
{
    return (struct link_via){
        .name = member->name,
        .user = member->user[0] != '\0' ? member->user : v->m->user,
        .agents = (const char *const *)v->m->agents,
        .nagents = v->m->n_agents,
        .files = v->files,
        .hostkeys = v->hostkeys,
    };
}

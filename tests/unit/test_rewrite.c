// One word of a hostfile changes: which, and that nothing else does.
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/near.h"
#include "hostfile/rewrite.h"
#include "hostfile/slurp.h"

static const struct {
    const char *dialect, *text, *member, *address,
        *gives; // gives: the text, or "!KIND"
} tables[] = {
    {"auto", "10.0.0.1 slots=8\n10.0.0.2 slots=8\n", "10.0.0.2", "10.0.0.9",
     "10.0.0.1 slots=8\n10.0.0.9 slots=8\n"},
    {"auto", "a slots=8", "a", "10.0.0.9", "10.0.0.9 slots=8"},
    {"auto", "Rig-A\nrig-b\n", "rig-a", "10.0.0.9", "10.0.0.9\nrig-b\n"},
    {"auto", "a.ns.svc\nb.ns.svc\n", "b", "10.0.0.9", "a.ns.svc\n10.0.0.9\n"},
    {"auto", "a\nb\n", "+n1", "10.0.0.9", "a\n10.0.0.9\n"},
    {"auto", "a.b. slots=2\n", "a.b", "10.0.0.9", "10.0.0.9 slots=2\n"},
    // comments, blanks, ends of lines, a byte order mark
    {"auto", "\xEF\xBB\xBF# 10.0.0.1\r\n \t10.0.0.1\t slots=8 # 10.0.0.1\r\n\r\n",
     "10.0.0.1", "10.0.0.9",
     "\xEF\xBB\xBF# 10.0.0.1\r\n \t10.0.0.9\t slots=8 # 10.0.0.1\r\n\r\n"},
    // a name that is part of others
    {"auto", "n1 slots=1\nn11 slots=11\nn1.n1 user=n1\n", "n1", "10.0.0.9",
     "10.0.0.9 slots=1\nn11 slots=11\nn1.n1 user=n1\n"},
    {"auto", "n1@n1 slots=1\n", "n1", "10.0.0.9", "n1@10.0.0.9 slots=1\n"},
    {"horovod", "a:2,b:4", "b", "10.0.0.9", "a:2,10.0.0.9:4"},
    // every word of a host
    {"auto", "ash\nbirch\nash\n", "ash", "10.0.0.9", "10.0.0.9\nbirch\n10.0.0.9\n"},
    {"hydra", "ash:1\nbirch:1\nash:1\n", "ash", "10.0.0.9",
     "10.0.0.9:1\nbirch:1\n10.0.0.9:1\n"},
    // IPv6
    {"auto", "[fd00::1]:4\nb:4\n", "fd00:0::1", "fd00::9", "[fd00::9]:4\nb:4\n"},
    {"auto", "[fd00::1]\nb\n", "fd00::1", "fd00::9", "[fd00::9]\nb\n"},
    {"auto", "fd00::1 slots=1\n", "fd00::1", "fd00::9", "fd00::9 slots=1\n"},
    {"auto", "[fd00::1]:4\nb,c\n", "fd00::1", "10.0.0.9", "10.0.0.9:4\nb,c\n"},
    {"auto", "a:4\nb,c\n", "a", "fd00::9", "[fd00::9]:4\nb,c\n"},
    {"hydra", "a:4\n", "a", "fd00::9", "!HF_CANNOT_WRITE"},
    {"auto", "a:4\nb:4\n", "a", "fd00::9", "!HF_CANNOT_WRITE"}, // it is Hydra's
    // ranges
    {"slurm", "n[1-3],x", "x", "10.0.0.9", "n[1-3],10.0.0.9"},
    {"slurm", "n[1-3],x", "n2", "10.0.0.9", "!HF_CANNOT_WRITE"},
    {"prrte", "a\nb\n^b\n", "b", "10.0.0.9", "!HF_NO_SUCH_HOST"},
    {"prrte", "a\nb\n^10.0.0.9\n", "a", "10.0.0.9", "!HF_CANNOT_WRITE"},
    // nothing to do
    {"auto", "10.0.0.1\n", "10.0.0.1", "10.0.0.1", ""},
    {"auto", "fd00::1\n", "fd00::1", "fd00:0::1", ""},
    {"auto", "::ffff:10.0.0.1\n", "10.0.0.1", "10.0.0.1", ""},
    // refused
    {"auto", "a\nb\n", "c", "10.0.0.9", "!HF_NO_SUCH_HOST"},
    {"auto", "a.x\na.y\n", "a", "10.0.0.9", "!AMBIGUOUS_HOST"},
    {"auto", "a\n10.0.0.9\n", "a", "10.0.0.9", "!HF_DUP_ADDRESS"},
    {"auto", "a\n::ffff:10.0.0.9\n", "a", "10.0.0.9", "!HF_DUP_ADDRESS"},
    {"auto", "10.0.0.9 port=1\na port=2\n", "a", "10.0.0.9", "!HF_DUP_ADDRESS"},
    {"auto", "a\n", "a", "b", "!HF_BAD_ADDRESS"},
    {"auto", "a\n", "a", "127.0.0.2", "!HF_BAD_ADDRESS"},
    {"auto", "a\n", "a", "::1", "!HF_BAD_ADDRESS"},
    {"auto", "a\n", "a", "0.0.0.0", "!HF_BAD_ADDRESS"},
    {"auto", "a\n", "a", "224.0.0.1", "!HF_BAD_ADDRESS"},
    {"auto", "a\n", "a", "10.0.0.9/24", "!HF_BAD_ADDRESS"},
    {"auto", "a lots=8\n", "a", "10.0.0.9", "!HF_UNKNOWN_KEY"},
    {"auto", "# written by muster-sidecar from x\na\n", "a", "10.0.0.9",
     "!HF_OWN_OUTPUT"},
};

static const struct dialect *find(const char *name)
{
    const struct dialect *d = dialect_find(name, "test", false, NULL);
    cr_assert_not_null(d);
    return d;
}

Test(rewrite, tables)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        ERR_AUTO err = ERR_INIT;
        REWRITE_AUTO r = {0};
        const char *text = tables[t].text;
        int rc = rewrite_member(find(tables[t].dialect), text, strlen(text), "F",
                                tables[t].member, tables[t].address, &r, &err);
        CLEANUP_FREE char *got =
            rc < 0 ? xasprintf("!%s", err.kind) : buf_steal_str(&r.text);
        cr_assert_str_eq(got, tables[t].gives, "%zu: %s for %s in %s: %s", t,
                         tables[t].address, tables[t].member, text, err_text(&err));
        cr_assert(rc < 0 || r.changed == (tables[t].gives[0] != '\0'));
    }
}

Test(rewrite, texts_name_what_is_near)
{
    ERR_AUTO err = ERR_INIT;
    REWRITE_AUTO r = {0};
    const char *text = "train-0\ntrain-1\nlogin\n10.0.0.3\n";
    rewrite_member(find("auto"), text, strlen(text), "F", "trani-1", "10.0.0.9", &r,
                   &err);
    cr_assert_str_eq(err_text(&err), "F: MEMBER:1: HF_NO_SUCH_HOST: there is no host "
                                     "'trani-1' in the list; near to it: train-1");
    rewrite_member(find("auto"), text, strlen(text), "F", "login", "10.0.0.3", &r,
                   &err);
    cr_assert_str_eq(err_text(&err),
                     "F:4:1: HF_DUP_ADDRESS: 10.0.0.3 is the address of "
                     "another member already: nothing was changed");
}

Test(near, counts_edits_up_to_a_bound)
{
    cr_assert_eq(near_distance("slots", 5, "SLOTS", 5, 2), 0);
    cr_assert_eq(near_distance("lots", 4, "slots", 5, 2), 1);
    cr_assert_eq(near_distance("kitten", 6, "sitting", 7, 9), 3);
    cr_assert_eq(near_distance("kitten", 6, "sitting", 7, 1), 2);
    cr_assert_eq(near_distance("", 0, "ab", 2, 2), 2);
    cr_assert_eq(near_distance("a", 1, "abcd", 4, 2), 3);
}

// ---- every member of every hostfile of the cases ---------------------------------------

// What `text` is when the bytes [from, from + len) of `old` are cut out and others put
// in: everything else is there.
static bool is_one_word(const char *old, size_t old_len, const char *now,
                        size_t now_len)
{
    size_t head = 0, tail = 0;
    while (head < old_len && head < now_len && old[head] == now[head])
        head++;
    while (tail < old_len - head && tail < now_len - head &&
           old[old_len - 1 - tail] == now[now_len - 1 - tail])
        tail++;
    for (size_t i = head; i < old_len - tail; i++)
        if (strchr(" \t\r\n#,=@", old[i]) != NULL)
            return false;
    return true;
}

static size_t listed(const struct members *m, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += strcasecmp(m->v[i].name, name) == 0 ? 1 : 0;
    return n;
}

// How many members could be changed.
static size_t change_each(const struct dialect *d, const char *file, const char *text,
                          size_t len)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    size_t done = 0;
    if (dialect_read(d, text, len, file, NULL, &m, NULL, NULL) < 0)
        return 0;
    for (size_t i = 0; i < m.n; i++) {
        ERR_AUTO err = ERR_INIT;
        REWRITE_AUTO r = {0};
        MEMBERS_AUTO now = MEMBERS_INIT;
        if (rewrite_member(d, text, len, file, m.v[i].name, "192.0.2.77", &r, &err) <
            0) {
            cr_assert_str_eq(err.kind, "HF_CANNOT_WRITE", "%s", err_text(&err));
            cr_assert_not_null(strstr(err_text(&err), "is one of"), "%s: %s", file,
                               err_text(&err));
            continue;
        }
        done++;
        const char *bytes = (const char *)buf_data(&r.text);
        cr_assert_eq(
            dialect_read(d, bytes, buf_len(&r.text), file, NULL, &now, NULL, &err), 0,
            "%s", err_text(&err));
        cr_assert_eq(now.n, m.n);
        cr_assert_str_eq(now.v[i].name, "192.0.2.77");
        cr_assert_eq(now.v[i].slots, m.v[i].slots);
        cr_assert_eq(listed(&now, "192.0.2.77"), listed(&m, m.v[i].name));
        cr_assert(r.places > 1 || is_one_word(text, len, bytes, buf_len(&r.text)),
                  "%s: %s", file, bytes);
    }
    return done;
}

Test(rewrite, any_member_of_the_hostfiles_of_the_cases, .timeout = 30)
{
    static const char *const dialects[] = {"auto",    "openmpi", "prrte",
                                           "hydra",   "intel",   "deepspeed",
                                           "horovod", "slurm",   "plain"};
    const char *src = getenv("MUSTER_SRCDIR");
    CLEANUP_FREE char *dir =
        xasprintf("%s/tests/cases/hostfiles", src != NULL ? src : ".");
    DIR *files = opendir(dir);
    size_t done = 0;
    cr_assert_not_null(files, "%s", dir);
    for (struct dirent *e; (e = readdir(files)) != NULL;) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", dir, e->d_name);
        BUF_AUTO text = BUF_INIT;
        if (e->d_name[0] != 'h' || slurp(path, &text, NULL) < 0)
            continue;
        for (size_t d = 0; d < sizeof dialects / sizeof *dialects; d++)
            done += change_each(find(dialects[d]), e->d_name,
                                (const char *)buf_data(&text), buf_len(&text));
    }
    closedir(files);
    cr_assert_gt(done, 250, "only %zu", done);
}

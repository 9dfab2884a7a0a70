// Volcano Job (pkg/controllers/job/plugins). The svc plugin gives every container, for each
// task of the job, /etc/volcano/TASK.host (JOB-TASK-N.JOB, one a line) and VC_TASK_HOSTS
// (the same with commas) and VC_TASK_NUM, where '-' in the task's name is '_', and large in
// the variables. The env plugin gives VC_TASK_INDEX, the mpi plugin the master MPI_HOST, the
// worker task's list.
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"
#include "hostfile/detect_impl.h"

#define DIR_NAME "/etc/volcano"

static const char ending[] = ".host";

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The tasks that have a file, in a fixed order.
static void list_tasks(const struct detect_look *l, struct strv *tasks)
{
    CLEANUP_FREE char *path = xasprintf("%s%s", l->view->root, DIR_NAME);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        size_t n = strlen(e->d_name), behind = strlen(ending);
        if (e->d_name[0] != '.' && n > behind &&
            strcmp(e->d_name + n - behind, ending) == 0)
            strv_add_steal(tasks, xstrndup(e->d_name, n - behind));
    }
    closedir(dir);
    if (tasks->n > 1)
        qsort(tasks->v, tasks->n, sizeof *tasks->v, by_text);
}

// The task's list as the variable has it; NULL: there is none.
static const char *hosts_of(const struct detect_look *l, const char *task)
{
    CLEANUP_FREE char *name = xasprintf("VC_%s_HOSTS", task);
    for (char *c = name; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return detect_getenv(l, name);
}

// The variable of the env plugin; NULL: there is none.
static const char *index_name(const struct detect_look *l)
{
    static const char *const known[] = {"VC_TASK_INDEX", "VK_TASK_INDEX"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (detect_getenv(l, known[i]) != NULL)
            return known[i];
    return NULL;
}

// Some VC_TASK_HOSTS; NULL: there is none.
static char *some_hosts(const struct detect_look *l)
{
    for (char *const *e = l->view->env; *e != NULL; e++) {
        const char *equal = strchr(*e, '='), *behind = strstr(*e, "_HOSTS=");
        if (strncmp(*e, "VC_", 3) == 0 && behind != NULL && behind < equal &&
            equal[1] != '\0')
            return xstrndup(*e, (size_t)(equal - *e));
    }
    return NULL;
}

// Without any file: are there variables of Volcano's?
static int no_file(const struct detect_look *l, struct err *err)
{
    CLEANUP_FREE char *hosts = some_hosts(l);
    const char *name = hosts != NULL ? hosts : index_name(l);
    if (name == NULL)
        return 0;
    err_set(err,
            "%s is set as in a Volcano Job, but there is no " DIR_NAME "/TASK%s: it is "
            "the plugin svc that puts it into every container",
            name, ending);
    return -1;
}

// Of several tasks the one that the mpi plugin means.
static int choose(const struct detect_look *l, const struct strv *tasks,
                  const char **task, struct err *err)
{
    const char *mpi = detect_getenv(l, "MPI_HOST");
    BUF_AUTO names = BUF_INIT;
    *task = tasks->v[0];
    if (tasks->n == 1)
        return 0;
    for (size_t i = 0; i < tasks->n; i++) {
        const char *hosts = hosts_of(l, tasks->v[i]);
        *task = tasks->v[i];
        if (mpi != NULL && hosts != NULL && strcmp(hosts, mpi) == 0)
            return 0;
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", tasks->v[i]);
    }
    CLEANUP_FREE char *all = buf_steal_str(&names);
    if (mpi != NULL)
        err_set(err,
                "MPI_HOST is '%s', which is the list of none of this Volcano "
                "Job's tasks (%s)",
                mpi, all);
    else
        err_set(err,
                "this Volcano Job has several tasks (%s): give the one whose pods are "
                "the group, as --hostfile " DIR_NAME "/%s%s",
                all, tasks->v[tasks->n - 1], ending);
    return -1;
}

// Where the own name stands in the list, -1: nowhere.
static long find_self(const struct detect_look *l, const char *hosts)
{
    STRV_AUTO list = STRV_INIT;
    size_t n = strlen(l->self.host);
    if (hosts != NULL)
        strv_add_split(&list, hosts, ',');
    for (size_t i = 0; i < list.n; i++)
        if (strncmp(list.v[i], l->self.host, n) == 0 && list.v[i][n] == '.')
            return (long)i;
    return -1;
}

static int check_index(const struct detect_look *l, const char *task, long at,
                       struct err *err)
{
    const char *name = index_name(l);
    long index = at;
    if (name != NULL &&
        detect_number(l, name, 0, DETECT_MEMBERS_MAX - 1, at, &index, err) < 0)
        return -1;
    if (at < 0 || index == at)
        return 0;
    err_set(err, "%s is %ld, but this pod, %s, is number %ld of task %s", name, index,
            l->self.host, at, task);
    return -1;
}

int detect_volcano(const struct detect_look *l, struct detected *out, struct err *err)
{
    STRV_AUTO tasks = STRV_INIT;
    const char *task;
    list_tasks(l, &tasks);
    if (tasks.n == 0)
        return no_file(l, err);
    if (choose(l, &tasks, &task, err) < 0)
        return -1;
    long at = find_self(l, hosts_of(l, task));
    if (check_index(l, task, at, err) < 0)
        return -1;
    CLEANUP_FREE char *path = xasprintf(DIR_NAME "/%s%s", task, ending);
    detect_found_hostfile(out, "Volcano", path, "plain", xasprintf("task %s", task));
    out->index = at;
    return 1;
}

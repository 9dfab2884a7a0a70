// muster-install: copies the bundle that it lies in, and tells the programs where they are.
//
// Linked statically: it is what runs before there is a loader. Init containers run it.
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/std.h"
#include "config.h"
#include "contrib/bundle/copytree.h"
#include "contrib/bundle/interp.h"

enum { FAILED = 125 };

static const char usage[] =
    "usage: muster-install [--as PATH] DIR\n"
    "\n"
    "Copies the bundle that this program lies in to DIR, which is made, so that the "
    "programs in\n"
    "DIR/bin run there: in any image, with the libraries and the loader of DIR/lib. "
    "What runs\n"
    "from an earlier copy goes on undisturbed.\n"
    "\n"
    "      --as PATH  where DIR will be when the programs run (a volume can have "
    "another\n"
    "                 path in the container that runs them); default: DIR\n"
    "      --help, --version\n";

struct opts {
    const char *dir, *as;
};

static void die(const struct err *err)
{
    fprintf(stderr, "muster-install: %s\n", err_text(err));
    exit(FAILED);
}

static void parse(struct opts *o, int argc, char **argv)
{
    static const struct option longs[] = {{"as", required_argument, NULL, 'a'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "+", longs, NULL)) != -1;) {
        if (c == 'a')
            o->as = optarg;
        else if (c == 'h')
            exit(fputs(usage, stdout) < 0 ? FAILED : 0);
        else if (c == 'V')
            exit(puts("muster-install " MUSTER_VERSION) < 0 ? FAILED : 0);
        else
            exit((fputs(usage, stderr), FAILED));
    }
    if (optind != argc - 1 || (o->as != NULL && o->as[0] != '/')) {
        fprintf(stderr, "muster-install: %s\n%s",
                optind != argc - 1 ? "one DIR is wanted"
                                   : "--as wants an absolute path",
                usage);
        exit(FAILED);
    }
    o->dir = argv[optind];
}

// Where the bundle is that this program is a part of: PATH of PATH/bin/muster-install.
static char *own_tree(struct err *err)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n < 0) {
        err_set(err, "/proc/self/exe cannot be read: is /proc mounted?");
        return NULL;
    }
    exe[n] = '\0';
    return xstrdup(dirname(dirname(exe)));
}

// A program that has room for it gets the path of the tree's loader; what that is called stays.
static int edit(void *arg, unsigned char *text, size_t n, struct err *err)
{
    const char *tree = arg;
    size_t room;
    char *interp = interp_find(text, n, &room);
    if (interp == NULL || room < INTERP_ROOM)
        return 0;
    CLEANUP_FREE char *name = xstrdup(interp);
    CLEANUP_FREE char *loader = xasprintf("%s/lib/%s", tree, basename(name));
    return interp_set(interp, room, loader, err);
}

static int install(const struct opts *o, struct err *err)
{
    CLEANUP_FREE char *from = own_tree(err);
    if (from == NULL)
        return -1;
    const char *as = o->as != NULL ? o->as : o->dir;
    CLEANUP_FREE char *cwd = as[0] == '/' ? xstrdup("") : getcwd(NULL, 0);
    if (cwd == NULL) {
        err_set_errno(err, errno,
                      "the current folder has no path; name DIR by its own");
        return -1;
    }
    CLEANUP_FREE char *tree = xasprintf("%s%s%s", cwd, as[0] == '/' ? "" : "/", as);
    return copytree(from, o->dir, edit, tree, err);
}

int main(int argc, char **argv)
{
    struct opts o = {0};
    struct err err = ERR_INIT;
    std_fill();
    parse(&o, argc, argv);
    if (install(&o, &err) < 0)
        die(&err);
    return 0;
}

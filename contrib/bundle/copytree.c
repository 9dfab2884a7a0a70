// Folders are walked by their fds; files go through memory, edited, and are renamed.
#include "contrib/bundle/copytree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/mem.h"

#define BESIDE ".muster-install"

struct walk {
    copytree_edit_fn *edit;
    void *arg;
    struct err *err;
    struct stat to; // the copy's root
};

static int fail(const struct walk *w, const char *path, const char *what)
{
    err_set_errno(w->err, errno, "%s: %s", path, what);
    return -1;
}

// ---- a file -----------------------------------------------------------------------

static int read_all(const struct walk *w, const char *path, struct buf *text,
                    mode_t *mode)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(w, path, "cannot be opened");
    *mode = st.st_mode & 0777;
    for (ssize_t n = 1; n != 0;) {
        unsigned char chunk[65536];
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno != EINTR)
            return fail(w, path, "cannot be read");
        if (n > 0)
            buf_append(text, chunk, (size_t)n);
    }
    return 0;
}

static int put(const struct walk *w, const char *path, const struct buf *text,
               mode_t mode)
{
    CLEANUP_FREE char *beside = xasprintf("%s" BESIDE, path);
    if (unlink(beside) < 0 && errno != ENOENT)
        return fail(w, beside, "is left over, and cannot be removed");
    CLEANUP_CLOSE int fd =
        open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail(w, beside, "cannot be made");
    if (fd_write(fd, buf_data(text), buf_len(text)) < 0 || fchmod(fd, mode) < 0) {
        fail(w, beside, "cannot be written");
        unlink(beside);
        return -1;
    }
    if (rename(beside, path) < 0) {
        fail(w, path, "cannot be replaced");
        unlink(beside);
        return -1;
    }
    return 0;
}

static int copy_file(const struct walk *w, const char *from, const char *to)
{
    BUF_AUTO text = BUF_INIT;
    mode_t mode;
    if (read_all(w, from, &text, &mode) < 0)
        return -1;
    if (w->edit(w->arg, buf_data(&text), buf_len(&text), w->err) < 0) {
        err_prefix(w->err, "%s", from);
        return -1;
    }
    return put(w, to, &text, mode);
}

// ---- a folder ---------------------------------------------------------------------

static int copy_folder(const struct walk *w, const char *from, const char *to);

static bool is_left_over(const char *name)
{
    size_t n = strlen(name), tail = strlen(BESIDE);
    return n > tail && strcmp(name + n - tail, BESIDE) == 0;
}

static int copy_entry(const struct walk *w, const char *from, const char *to,
                      const char *name)
{
    CLEANUP_FREE char *source = xasprintf("%s/%s", from, name);
    CLEANUP_FREE char *target = xasprintf("%s/%s", to, name);
    struct stat st;
    if (lstat(source, &st) < 0)
        return fail(w, source, "cannot be looked at");
    if (st.st_dev == w->to.st_dev && st.st_ino == w->to.st_ino) {
        err_set(w->err, "%s: lies in the tree that is to be copied", source);
        return -1;
    }
    if (S_ISDIR(st.st_mode))
        return copy_folder(w, source, target);
    if (S_ISREG(st.st_mode))
        return copy_file(w, source, target);
    err_set(w->err, "%s: neither a file nor a folder: no part of a bundle", source);
    return -1;
}

static int is_part(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
           !is_left_over(entry->d_name);
}

// The list is taken first: where a tree is copied onto itself, its folders change.
static int copy_folder(const struct walk *w, const char *from, const char *to)
{
    struct dirent **list;
    int n = scandir(from, &list, is_part, NULL), rc = 0;
    if (n < 0)
        return fail(w, from, "cannot be read");
    if (mkdir(to, 0755) < 0 && errno != EEXIST)
        rc = fail(w, to, "cannot be made");
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = copy_entry(w, from, to, list[i]->d_name);
        free(list[i]);
    }
    free(list);
    return rc;
}

// Makes the folder, and those above it that are missing.
static int make_folders(const struct walk *w, const char *path)
{
    CLEANUP_FREE char *part = xstrdup(path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return fail(w, part, "cannot be made");
        *slash = '/';
    }
    return mkdir(path, 0755) < 0 && errno != EEXIST ? fail(w, path, "cannot be made")
                                                    : 0;
}

int copytree(const char *from, const char *to, copytree_edit_fn *edit, void *arg,
             struct err *err)
{
    struct walk w = {.edit = edit, .arg = arg, .err = err};
    if (make_folders(&w, to) < 0)
        return -1;
    if (stat(to, &w.to) < 0)
        return fail(&w, to, "cannot be looked at");
    return copy_folder(&w, from, to);
}

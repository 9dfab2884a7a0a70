// Command lines for remote shells: read back by real ones; answers among noise.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/sha256.h"
#include "wire/remote.h"

static const char nasty[] = "it's a \"path\" $(touch x) `id` \\ *;#\n end";

// What `line` prints when a login shell runs it, at most 64 KiB.
static char *shell(const char *line, const char *input)
{
    CLEANUP_FREE char *quiet =
        xasprintf("%s 2>/dev/null </tmp/muster-remote-%d", line, (int)getpid());
    CLEANUP_FREE char *file = xasprintf("/tmp/muster-remote-%d", (int)getpid());
    FILE *in = fopen(file, "w");
    fputs(input, in);
    fclose(in);
    BUF_AUTO out = BUF_INIT;
    FILE *p = popen(quiet, "r");
    size_t n = fread(buf_reserve(&out, 65536), 1, 65536, p);
    buf_commit(&out, n);
    pclose(p);
    unlink(file);
    return buf_steal_str(&out);
}

static char *make_dir(void)
{
    char template[] = "/tmp/muster test's XXXXXX";
    cr_assert_not_null(mkdtemp(template));
    setenv("TMPDIR", template, 1);
    return xstrdup(template);
}

static void remove_dir(const char *dir)
{
    CLEANUP_FREE char *q = remote_quote(dir);
    CLEANUP_FREE char *line = xasprintf("rm -rf %s", q);
    free(shell(line, ""));
}

Test(remote, a_quoted_word_comes_back_byte_for_byte, .timeout = 10)
{
    CLEANUP_FREE char *q = remote_quote(nasty);
    CLEANUP_FREE char *line = xasprintf("printf %%s %s", q);
    CLEANUP_FREE char *back = shell(line, "");
    cr_assert_str_eq(back, nasty);
}

static void write_agent(const char *path, mode_t mode)
{
    FILE *f = fopen(path, "w");
    fputs("#!/bin/sh\nprintf 'ran %s' \"$*\"\n", f);
    fclose(f);
    chmod(path, mode);
}

Test(remote, the_first_agent_that_is_there_is_started, .timeout = 10)
{
    CLEANUP_FREE char *dir = make_dir();
    CLEANUP_FREE char *path = xasprintf("%s/musterd", dir);
    write_agent(path, 0755);
    const char *agents[] = {"/nonexistent/musterd", "no-such-musterd", path};
    CLEANUP_FREE char *line = remote_start_command(agents, 3);
    CLEANUP_FREE char *out = shell(line, "");
    cr_assert_str_eq(out, "ran --stdio --announce");
    remove_dir(dir);
}

static enum remote_word answer_to(const char *line, const char *input, char **text)
{
    BUF_AUTO in = BUF_INIT;
    CLEANUP_FREE char *out = shell(line, input);
    buf_append_str(&in, out);
    return remote_answer(&in, text);
}

Test(remote, no_agent_and_one_that_cannot_run_are_told_apart, .timeout = 10)
{
    CLEANUP_FREE char *dir = make_dir();
    CLEANUP_FREE char *path = xasprintf("%s/musterd", dir), *text = NULL;
    const char *agents[] = {path};
    CLEANUP_FREE char *line = remote_start_command(agents, 1);
    cr_assert_eq(answer_to(line, "", &text), REMOTE_ABSENT);
    write_agent(path, 0600);
    cr_assert_eq(answer_to(line, "", &text), REMOTE_NOEXEC);
    cr_assert_str_eq(text, path);
    remove_dir(dir);
}

Test(remote, a_file_is_put_once, .timeout = 10)
{
    CLEANUP_FREE char *dir = make_dir(), *first = NULL, *second = NULL;
    char hash[SHA256_HEX];
    sha256_hex("content", 7, hash);
    CLEANUP_FREE char *line = remote_put_command("agent", "musterd", hash);
    BUF_AUTO in = BUF_INIT;
    CLEANUP_FREE char *out = shell(line, "content");
    buf_append_str(&in, out);
    cr_assert_eq(remote_answer(&in, &first), REMOTE_SEND);
    cr_assert_eq(remote_answer(&in, &second), REMOTE_HAVE);
    cr_assert_str_eq(first, second);
    cr_assert_eq(access(second, X_OK), 0);
    free(first);
    cr_assert_eq(answer_to(line, "", &first), REMOTE_HAVE); // nothing is read
    remove_dir(dir);
}

Test(remote, half_a_file_is_refused_and_leaves_nothing, .timeout = 10)
{
    CLEANUP_FREE char *dir = make_dir(), *text = NULL, *why = NULL;
    char hash[SHA256_HEX];
    sha256_hex("content", 7, hash);
    CLEANUP_FREE char *line = remote_put_command("agent", "musterd", hash);
    BUF_AUTO in = BUF_INIT;
    CLEANUP_FREE char *out = shell(line, "conte");
    buf_append_str(&in, out);
    cr_assert_eq(remote_answer(&in, &text), REMOTE_SEND);
    cr_assert_eq(remote_answer(&in, &why), REMOTE_BAD);
    cr_assert_not_null(strstr(why, "not all of it arrived"));
    CLEANUP_FREE char *q = remote_quote(dir);
    CLEANUP_FREE char *find = xasprintf("find %s -type f", q);
    CLEANUP_FREE char *left = shell(find, "");
    cr_assert_str_eq(left, "");
    remove_dir(dir);
}

Test(remote, a_link_in_the_place_of_the_directory_is_refused, .timeout = 10)
{
    CLEANUP_FREE char *dir = make_dir(), *text = NULL;
    CLEANUP_FREE char *link = xasprintf("%s/agent-%u", dir, (unsigned)getuid());
    cr_assert_eq(symlink("/tmp", link), 0);
    CLEANUP_FREE char *line = remote_put_command("agent", "musterd", "0");
    cr_assert_eq(answer_to(line, "", &text), REMOTE_BAD);
    cr_assert_not_null(strstr(text, "somebody else's"));
    remove_dir(dir);
}

Test(remote, noise_before_an_answer_is_skipped_and_frames_stay)
{
    BUF_AUTO in = BUF_INIT;
    char *text = NULL;
    buf_append_str(&in, "Welcome!\nno newline" REMOTE_FRAMES);
    buf_append(&in, "\0\1frame", 7);
    cr_assert_eq(remote_answer(&in, &text), REMOTE_START);
    cr_assert_null(text);
    cr_assert_eq(buf_len(&in), 7);
    cr_assert_eq(memcmp(buf_data(&in), "\0\1frame", 7), 0);
}

Test(remote, an_answer_in_pieces_is_waited_for)
{
    static const char all[] = "motd\nMUSTER-PUT bad no space left\nrest";
    BUF_AUTO in = BUF_INIT;
    size_t line = (size_t)(strstr(all, "left\n") - all) + 5;
    char *text = NULL;
    for (size_t i = 0; i < line; i++) {
        cr_assert_eq(remote_answer(&in, &text), REMOTE_NONE);
        buf_append(&in, all + i, 1);
    }
    cr_assert_eq(remote_answer(&in, &text), REMOTE_BAD);
    cr_assert_str_eq(text, "no space left");
    free(text);
}

Test(remote, an_empty_buffer_has_no_answer)
{
    BUF_AUTO in = BUF_INIT;
    char *text = NULL;
    cr_assert_eq(remote_answer(&in, &text), REMOTE_NONE);
    CLEANUP_FREE char *shown = remote_excerpt(&in, 10);
    cr_assert_str_eq(shown, "");
}

Test(remote, an_excerpt_is_one_safe_line_of_the_end)
{
    BUF_AUTO said = BUF_INIT;
    buf_append_str(&said, "lost\none\r\n\n\033[1mtwo\n");
    CLEANUP_FREE char *all = remote_excerpt(&said, 100);
    cr_assert_str_eq(all, "lost|one|?[1mtwo");
    CLEANUP_FREE char *end = remote_excerpt(&said, 4);
    cr_assert_str_eq(end, "two");
}

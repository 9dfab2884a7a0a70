// Where a role's leader is, by the file that Muster keeps current.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/infer/rolefile.h"

static int look(const char *text, struct sockaddr_storage *to, struct err *err)
{
    char path[] = "/tmp/rolefile-test-XXXXXX";
    int fd = mkstemp(path), len = sizeof *to;
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int rc = rolefile_leader(path, "prefill", to, &len, err);
    unlink(path);
    return rc;
}

Test(rolefile, names_the_leader_of_a_role_that_runs)
{
    ERR_AUTO err = ERR_INIT;
    struct sockaddr_storage to;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&to;
    cr_assert_eq(look("{\"roles\": {\"prefill\": {\"state\": \"running\", \"leader\": "
                      "\"10.0.0.1\", \"port\": 20123}}}",
                      &to, &err),
                 0, "%s", err_text(&err));
    cr_assert(v4->sin_family == AF_INET && ntohs(v4->sin_port) == 20123);
    cr_assert_eq(look("{\"roles\": {\"prefill\": {\"state\": \"running\", \"leader\": "
                      "\"fd00::1\", \"port\": 1}}}",
                      &to, &err),
                 0, "%s", err_text(&err));
    cr_assert_eq(to.ss_family, AF_INET6);
}

Test(rolefile, what_cannot_be_asked_is_said)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "line"},
        {"{}", "there is no role prefill"},
        {"{\"roles\": {\"decode\": {\"state\": \"running\"}}}",
         "there is no role prefill"},
        {"{\"roles\": {\"prefill\": {\"state\": \"restarting\", \"leader\": "
         "\"1.2.3.4\", "
         "\"port\": 5}}}",
         "role prefill is restarting"},
        {"{\"roles\": {\"prefill\": {\"state\": \"running\", \"leader\": \"here\", "
         "\"port\": 5}}}",
         "here port 5: no address"},
        {"{\"roles\": {\"prefill\": {\"state\": \"running\", \"leader\": "
         "\"1.2.3.4\", \"port\": 65536}}}",
         "1.2.3.4 port 65536: no address"},
        // Not fd00::1 at port 80.
        {"{\"roles\": {\"prefill\": {\"state\": \"running\", \"leader\": "
         "\"fd00::1]:80#\", \"port\": 5}}}",
         "fd00::1]:80# port 5: no address"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ERR_AUTO err = ERR_INIT;
        struct sockaddr_storage to;
        cr_assert_eq(look(cases[i].text, &to, &err), -1);
        cr_assert_not_null(strstr(err_text(&err), cases[i].part), "%s", err_text(&err));
    }
}

// Parsing resolv.conf.
#include "hostfile/resolvconf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"

static const char blanks[] = " \t\r";

static void take_server(struct resolvconf *rc, const char *word)
{
    struct sockaddr_storage addr;
    if (rc->servers.n < RESOLVCONF_SERVERS_MAX &&
        hostname_literal(word, strlen(word), &addr))
        strv_add(&rc->servers, word);
}

static void take_search(struct resolvconf *rc, char **rest)
{
    strv_free(&rc->search); // the last line counts
    for (char *word; (word = strtok_r(NULL, blanks, rest)) != NULL;) {
        size_t len = strlen(word);
        if (len > 0 && word[len - 1] == '.')
            word[--len] = '\0';
        if (len > 0)
            strv_add(&rc->search, word);
    }
}

static void take_options(struct resolvconf *rc, char **rest)
{
    for (char *word; (word = strtok_r(NULL, blanks, rest)) != NULL;) {
        if (strncmp(word, "ndots:", 6) != 0)
            continue;
        int n = atoi(word + 6);
        rc->ndots = n < 0 ? 0 : n > 15 ? 15 : n;
    }
}

static void take_line(struct resolvconf *rc, char *line)
{
    char *rest, *key = strtok_r(line, blanks, &rest);
    if (key == NULL || key[0] == '#' || key[0] == ';')
        return;
    if (strcmp(key, "search") == 0 || strcmp(key, "domain") == 0) {
        take_search(rc, &rest);
    } else if (strcmp(key, "options") == 0) {
        take_options(rc, &rest);
    } else if (strcmp(key, "nameserver") == 0) {
        const char *word = strtok_r(NULL, blanks, &rest);
        if (word != NULL)
            take_server(rc, word);
    }
}

void resolvconf_parse(const char *text, size_t len, struct resolvconf *out)
{
    *out = (struct resolvconf){.ndots = 1};
    CLEANUP_FREE char *copy = xstrndup(text, len);
    char *rest, *line = strtok_r(copy, "\n", &rest);
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest))
        take_line(out, line);
}

void resolvconf_free(struct resolvconf *rc)
{
    strv_free(&rc->servers);
    strv_free(&rc->search);
}

// Is what a reader saw a whole hosts file?
#include <stdio.h>
#include <string.h>

#include "tests/hosts/torn.h"

const char *const torn_foreign =
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n"
    "10.244.0.7\ttrain-0.train.ns.svc.cluster.local\ttrain-0\n";

const char *torn_address(int form)
{
    static const char *const all[FORMS] = {
        "10.1.1.1",   "10.222.222.222", "192.168.100.200",
        "172.16.0.9", "10.33.3.133",    "fd00:1111:2222:3333::44"};
    return all[form];
}

void torn_stay_address(int i, char *out)
{
    sprintf(out, "10.99.%d.%d", i, 255 - i);
}

static bool is_one_of_theirs(const char *address)
{
    for (int i = 0; i < FORMS; i++)
        if (strcmp(address, torn_address(i)) == 0)
            return true;
    return false;
}

// One line of the block that is no comment.
static const char *check_line(char *line, bool *stay)
{
    char *rest, *address = strtok_r(line, " ", &rest),
                *name = strtok_r(NULL, " ", &rest);
    char want[64];
    int i, end = 0;
    if (address == NULL || name == NULL || strtok_r(NULL, " ", &rest) != NULL)
        return "a line of the block is not ADDRESS NAME";
    if (sscanf(name, "stay-%d.example.com%n", &i, &end) == 1 && end > 0 &&
        name[end] == '\0' && i < STAY) {
        torn_stay_address(i, want);
        stay[i] = true;
        return strcmp(address, want) == 0 ? NULL : "a member that stays has moved";
    }
    if (sscanf(name, "move-%d.example.com%n", &i, &end) == 1 && end > 0 &&
        name[end] == '\0' && i < MOVE)
        return is_one_of_theirs(address) ? NULL
                                         : "an address is half one and half another";
    return "a name is not whole";
}

const char *torn_check(const char *text, size_t len)
{
    static char copy[1 << 21];
    bool stay[STAY] = {false};
    size_t n = strlen(torn_foreign);
    if (len < n || memcmp(text, torn_foreign, n) != 0)
        return "lines of others are not there";
    if (len >= sizeof copy || text[len - 1] != '\n')
        return "the last line is not whole";
    memcpy(copy, text + n, len - n);
    copy[len - n] = '\0';
    if (strlen(copy) != len - n)
        return "there are NULs";
    char *rest, *line = strtok_r(copy, "\n", &rest);
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *why = line[0] != '#' ? check_line(line, stay) : NULL;
        if (why != NULL)
            return why;
    }
    for (int i = 0; i < STAY; i++)
        if (!stay[i])
            return "a member that stays is not there";
    return NULL;
}

// podbox dns: single names, and the server's faults.
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/dns.h"

enum { LOCK_MS = 10000 };

static int set_name(const struct bed *bed, char **argv, struct err *err)
{
    uint8_t raw[16];
    bool v6 = strcmp(argv[3], "AAAA") == 0;
    if ((!v6 && strcmp(argv[3], "A") != 0) ||
        inet_pton(v6 ? AF_INET6 : AF_INET, argv[4], raw) != 1)
        return cmd_usage("dns", "set wants NAME A ADDRESS or NAME AAAA ADDRESS", err);
    return dns_change_name(bed, argv[2], argv[3], argv[4], err);
}

static int act(struct bed *bed, int argc, char **argv, struct err *err)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (argc == 5 && strcmp(word, "set") == 0)
        return set_name(bed, argv, err);
    if (argc == 3 && strcmp(word, "del") == 0)
        return dns_change_name(bed, argv[2], NULL, NULL, err);
    if (argc == 2 && strcmp(word, "stop") == 0)
        return dns_stop(bed, err);
    if (argc == 2 && strcmp(word, "silence") == 0)
        return dns_silence(bed, err);
    if (argc == 2 && strcmp(word, "start") == 0)
        return dns_resume(bed, err);
    return cmd_usage("dns", "want set NAME A ADDRESS, del NAME, stop, silence or start",
                     err);
}

int cmd_dns(const char *name, int argc, char **argv, struct err *err)
{
    struct bed *bed = bed_load(name, err);
    CLEANUP_CLOSE int lock = bed != NULL ? bed_lock(name, LOCK_MS, err) : -1;
    int rc = lock < 0 ? -1 : act(bed, argc, argv, err);
    if (rc == 0)
        rc = bed_save(bed, err);
    bed_destroy(bed);
    return rc;
}

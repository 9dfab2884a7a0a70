// Helper processes of a bed (its fabric, a pod's sandbox, a container's shim): podbox
// started anew with a role, and the few words that pass while one starts.
//
// A helper's command line is `podbox --bed NAME ROLE [POD]`; that is how `down` finds
// it, whatever became of the records.
#ifndef MUSTER_PODBOX_BOOT_H
#define MUSTER_PODBOX_BOOT_H

#include "tests/podbox/bed.h"

#define BOOT_FABRIC  "fabric-of"
#define BOOT_SANDBOX "sandbox-of"
#define BOOT_SHIM    "shim-of"

enum { BOOT_FD = 3 }; // the helper's end of the line

struct boot {
    int fd; // -1: none
    struct ident id;
};

// Start a helper (pod NULL: for the bed itself). It has no inherited fd but its line;
// what it prints goes to the bed's file "helpers.log".
int boot_start(const struct bed *bed, const char *role, const char *pod, struct boot *b,
               struct err *err);
// Wait until the other end says `word` ("": until it closes); an error that it says
// becomes ours.
int boot_expect(int fd, const char *word, struct err *err);
int boot_say(int fd, const char *word);
void boot_say_error(int fd, const struct err *err);
void boot_close(struct boot *b);

#endif

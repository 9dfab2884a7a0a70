// PT_INTERP: find it, fill it.
#include "contrib/bundle/interp.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int is_elf64(const unsigned char *elf, size_t n)
{
    return n >= sizeof(Elf64_Ehdr) && memcmp(elf, ELFMAG, SELFMAG) == 0 &&
           elf[EI_CLASS] == ELFCLASS64;
}

char *interp_find(unsigned char *elf, size_t n, size_t *room)
{
    if (!is_elf64(elf, n))
        return NULL;
    Elf64_Ehdr head;
    memcpy(&head, elf, sizeof head);
    for (uint64_t i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr ph;
        uint64_t at = head.e_phoff + i * sizeof ph;
        if (head.e_phentsize != sizeof ph || at < head.e_phoff || at > n - sizeof ph)
            return NULL;
        memcpy(&ph, elf + at, sizeof ph);
        if (ph.p_type != PT_INTERP)
            continue;
        if (ph.p_filesz == 0 || ph.p_filesz > n || ph.p_offset > n - ph.p_filesz ||
            elf[ph.p_offset + ph.p_filesz - 1] != '\0')
            return NULL;
        *room = ph.p_filesz;
        return (char *)elf + ph.p_offset;
    }
    return NULL;
}

int interp_set(char *interp, size_t room, const char *path, struct err *err)
{
    size_t n = strlen(path);
    if (n >= room) {
        err_set(err, "%s: a path of %zu bytes; the programs have room for %zu", path, n,
                room - 1);
        return -1;
    }
    memset(interp, 0, room);
    snprintf(interp, room, "%s", path);
    return 0;
}

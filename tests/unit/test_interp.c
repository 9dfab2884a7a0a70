// The loader's path in ELF files, whole and broken.
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "contrib/bundle/interp.h"

enum { ROOM = 64, AT = 256, SIZE = AT + ROOM };

struct elf {
    unsigned char text[SIZE + 1];
};

// A program with two headers, of which the second names a loader.
static Elf64_Phdr *make(struct elf *e)
{
    Elf64_Ehdr head = {
        .e_phoff = sizeof head, .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr)};
    Elf64_Phdr ph[2] = {{.p_type = PT_LOAD},
                        {.p_type = PT_INTERP, .p_offset = AT, .p_filesz = ROOM}};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    memset(e, 0, sizeof *e);
    memcpy(e->text, &head, sizeof head);
    memcpy(e->text + sizeof head, ph, sizeof ph);
    snprintf((char *)e->text + AT, ROOM, "/lib64/ld.so");
    return (Elf64_Phdr *)(void *)(e->text + sizeof head) + 1;
}

static char *find(struct elf *e, size_t n)
{
    size_t room = 0;
    char *interp = interp_find(e->text, n, &room);
    if (interp != NULL)
        cr_expect_eq(room, ROOM);
    return interp;
}

Test(interp, is_found_and_set, .timeout = 10)
{
    struct elf e;
    make(&e);
    char *interp = find(&e, SIZE);
    cr_assert_str_eq(interp, "/lib64/ld.so");
    cr_assert_eq(interp_set(interp, ROOM, "/muster/lib/ld.so", NULL), 0);
    cr_expect_str_eq(find(&e, SIZE), "/muster/lib/ld.so");
    cr_assert_eq(interp_set(interp, ROOM, "/m", NULL), 0);
    cr_expect_str_eq(find(&e, SIZE), "/m");
    for (size_t i = 2; i < ROOM; i++)
        cr_expect_eq(interp[i], '\0', "what was there before is gone");
}

Test(interp, a_path_that_is_too_long_changes_nothing, .timeout = 10)
{
    struct elf e;
    struct err err = ERR_INIT;
    char path[ROOM + 1];
    make(&e);
    char *interp = find(&e, SIZE);
    memset(path, 'a', ROOM);
    path[ROOM] = '\0';
    cr_assert_eq(interp_set(interp, ROOM, path, &err), -1);
    cr_expect(
        strstr(err_text(&err), "a path of 64 bytes; the programs have room for 63"));
    cr_expect_str_eq(interp, "/lib64/ld.so");
    err_clear(&err);
    path[ROOM - 1] = '\0';
    cr_expect_eq(interp_set(interp, ROOM, path, NULL), 0);
    cr_expect_str_eq(find(&e, SIZE), path);
}

Test(interp, a_file_that_ends_early_has_none, .timeout = 10)
{
    for (size_t n = 0; n < SIZE; n++) {
        struct elf e;
        make(&e);
        cr_expect_null(find(&e, n), "%zu bytes", n);
    }
}

Test(interp, headers_that_lie_are_not_followed, .timeout = 10)
{
    static const Elf64_Phdr bad[] = {
        {.p_type = PT_INTERP, .p_offset = SIZE, .p_filesz = ROOM},
        {.p_type = PT_INTERP, .p_offset = UINT64_MAX, .p_filesz = ROOM},
        {.p_type = PT_INTERP, .p_offset = AT, .p_filesz = UINT64_MAX},
        {.p_type = PT_INTERP, .p_offset = AT, .p_filesz = 0},
        {.p_type = PT_INTERP, .p_offset = AT, .p_filesz = 5}, // no NUL at its end
        {.p_type = PT_NULL},
    };
    struct elf e;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *make(&e) = bad[i];
        cr_expect_null(find(&e, SIZE), "header %zu", i);
    }
    make(&e);
    ((Elf64_Ehdr *)(void *)e.text)->e_phoff = UINT64_MAX - 8;
    cr_expect_null(find(&e, SIZE));
    make(&e);
    ((Elf64_Ehdr *)(void *)e.text)->e_phnum = UINT16_MAX;
    cr_expect_not_null(find(&e, SIZE), "those before the end count");
    make(&e);
    e.text[EI_CLASS] = ELFCLASS32;
    cr_expect_null(find(&e, SIZE));
    make(&e);
    e.text[0] = '#';
    cr_expect_null(find(&e, SIZE));
}

// The dynamic loader's path within an ELF program, changed in place.
//
// A program names its loader by an absolute path (PT_INTERP, System V ABI, "Program
// Interpreter"): the kernel takes it as it stands, so a tree that carries its own loader has
// to be told where it lies. bundle leaves INTERP_ROOM bytes for that.
#ifndef MUSTER_BUNDLE_INTERP_H
#define MUSTER_BUNDLE_INTERP_H

#include <stddef.h>

#include "common/err.h"

enum { INTERP_ROOM = 1024 };

// The loader's path within the 64-bit ELF file of `n` bytes at `elf`, NUL-terminated, and in
// *room how many bytes are there for it, the NUL among them. NULL: it has none, or it is no
// such file.
char *interp_find(unsigned char *elf, size_t n, size_t *room);
// Puts `path` there. Error: it is longer than the room.
int interp_set(char *interp, size_t room, const char *path, struct err *err);

#endif

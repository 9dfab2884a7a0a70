// Reader of the Open MPI hostfile dialect, with the forms that others write.
//
// A line is NAME [slots=N] [max_slots=N] [port=N] [user=U]. Beside Open MPI's own forms
// these are taken: "name:N" (mpi-operator's form for Intel MPI and MPICH), user@name,
// bracketed and bare IPv6, comma lists and bracket ranges, "^name" (left out).
// Comments, CRLF and a byte order mark are fine.
#ifndef MUSTER_HOSTFILE_OPENMPI_H
#define MUSTER_HOSTFILE_OPENMPI_H

#include <stddef.h>

#include "common/err.h"
#include "hostfile/members.h"

enum { OPENMPI_MEMBERS_MAX = 4000000 };

// Reads a whole hostfile: all of it, or an error "FILE:LINE:COLUMN: KIND: text" and
// *out untouched. `file` is for texts; `self` is this machine's name, which replaces
// localhost (NULL: never). Time is linear in len. A host without a count keeps slots
// -1; one that is listed bare n > 1 times has n.
int openmpi_read(const char *text, size_t len, const char *file, const char *self,
                 struct members *out, struct err *err);

#endif

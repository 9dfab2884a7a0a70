// Horovod's -H list, NAME:N,NAME:N, and its hostfile, NAME slots=N a line. A host that
// is listed again is a member more; a bare one has 1 slot.
#ifndef MUSTER_HOSTFILE_HOROVOD_H
#define MUSTER_HOSTFILE_HOROVOD_H

struct dialect;

const struct dialect *horovod_dialect(void);

#endif

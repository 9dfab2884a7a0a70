// Where another role's leader is: $MUSTER_ROLE_FILE (muster-run(1), ROLES).
#ifndef MUSTER_KERNELS_INFER_ROLEFILE_H
#define MUSTER_KERNELS_INFER_ROLEFILE_H

#include "common/err.h"

struct sockaddr_storage;

// Reads the file anew. *len is the address's length. Error: the role is not there or does not run.
int rolefile_leader(const char *path, const char *role, struct sockaddr_storage *to,
                    int *len, struct err *err);

#endif

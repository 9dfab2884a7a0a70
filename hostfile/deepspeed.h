// DeepSpeed's hostfile: [USER@]NAME slots=N, each host once.
#ifndef MUSTER_HOSTFILE_DEEPSPEED_H
#define MUSTER_HOSTFILE_DEEPSPEED_H

struct dialect;

const struct dialect *deepspeed_dialect(void);

#endif

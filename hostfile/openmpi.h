// Open MPI's hostfile: NAME slots=N max_slots=M port=P username=U, and what PRRTE 5
// adds: ^NAME. A host that is listed bare n times has n slots; once: not given.
#ifndef MUSTER_HOSTFILE_OPENMPI_H
#define MUSTER_HOSTFILE_OPENMPI_H

struct dialect;

const struct dialect *openmpi_dialect(void); // Open MPI 4.1
const struct dialect *openmpi_prrte(void);   // PRRTE, the launcher of Open MPI 5

#endif

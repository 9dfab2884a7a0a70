// Members as JSON: {"members":[{"name","slots","max_slots","user","port"},...],
// "warnings":[...]} in file order, null where nothing was given. Written only.
#ifndef MUSTER_HOSTFILE_JSONFORM_H
#define MUSTER_HOSTFILE_JSONFORM_H

struct dialect;

const struct dialect *jsonform_dialect(void);

#endif

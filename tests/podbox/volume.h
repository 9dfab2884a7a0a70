// ConfigMap and Secret volumes: kubelet's `..data` layout and its atomic swap.
#ifndef MUSTER_PODBOX_VOLUME_H
#define MUSTER_PODBOX_VOLUME_H

#include "tests/podbox/bed.h"

// What is mounted into the pods (made by volume_make or volume_put).
char *volume_dir(const struct bed *bed, const char *name);
// The empty volume, where there is none. mode: of its files, now and later; 0: as it
// was said before, 0644 when nothing was.
int volume_make(const struct bed *bed, const char *name, mode_t mode, struct err *err);
// The files of `from` become the volume's content by one rename; no change: no swap.
int volume_put(const struct bed *bed, const char *name, const char *from, mode_t mode,
               struct err *err);
int volume_show(const struct bed *bed, const char *name, struct err *err);

#endif

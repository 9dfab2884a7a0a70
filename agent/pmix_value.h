// libpmix's values as bytes, for other PMIx servers of the attempt.
#ifndef MUSTER_AGENT_PMIX_VALUE_H
#define MUSTER_AGENT_PMIX_VALUE_H

#include <pmix_common.h>

#include "common/buf.h"
#include "wire/muster.pb-c.h"

// Appends to *out; nothing for what libpmix cannot pack.
void pmixd_value_pack(struct buf *out, const pmix_value_t *value);
// -1 for what is no such value.
int pmixd_value_unpack(pmix_value_t *value, const ProtobufCBinaryData *data);
// The same for an array of keys. *info is NULL when there are none; free it with
// PMIX_INFO_FREE.
void pmixd_value_pack_info(struct buf *out, const pmix_info_t *info, size_t n);
int pmixd_value_unpack_info(pmix_info_t **info, size_t *n,
                            const ProtobufCBinaryData *data);

#endif

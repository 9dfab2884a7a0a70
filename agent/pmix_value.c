// Packing by libpmix itself: it alone knows all types of values.
#include "agent/pmix_value.h"

#include <pmix.h>

#include "common/mem.h"

static void append_packed(struct buf *out, const void *what, int32_t n,
                          pmix_data_type_t type)
{
    pmix_data_buffer_t packed;
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    // Packing does not change what is packed; the interface only says so in words.
    if (PMIx_Data_pack(NULL, &packed, (void *)(uintptr_t)what, n, type) == PMIX_SUCCESS)
        buf_append(out, packed.base_ptr, packed.bytes_used);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
}

// The bytes stay ours: libpmix gets a copy that it frees.
static void load(pmix_data_buffer_t *from, const ProtobufCBinaryData *data)
{
    PMIX_DATA_BUFFER_CONSTRUCT(from);
    PMIX_DATA_BUFFER_LOAD(from, xmemdup(data->data, data->len), data->len);
}

void pmixd_value_pack(struct buf *out, const pmix_value_t *value)
{
    append_packed(out, value, 1, PMIX_VALUE);
}

int pmixd_value_unpack(pmix_value_t *value, const ProtobufCBinaryData *data)
{
    pmix_data_buffer_t from;
    int32_t n = 1;
    load(&from, data);
    pmix_status_t rc = PMIx_Data_unpack(NULL, &from, value, &n, PMIX_VALUE);
    PMIX_DATA_BUFFER_DESTRUCT(&from);
    return rc == PMIX_SUCCESS && n == 1 ? 0 : -1;
}

void pmixd_value_pack_info(struct buf *out, const pmix_info_t *info, size_t n)
{
    int32_t count = (int32_t)n;
    append_packed(out, &count, 1, PMIX_INT32);
    if (n > 0)
        append_packed(out, info, count, PMIX_INFO);
}

int pmixd_value_unpack_info(pmix_info_t **info, size_t *n,
                            const ProtobufCBinaryData *data)
{
    pmix_data_buffer_t from;
    int32_t count = 0, one = 1;
    *info = NULL;
    *n = 0;
    load(&from, data);
    pmix_status_t rc = PMIx_Data_unpack(NULL, &from, &count, &one, PMIX_INT32);
    // Every key takes more than one byte.
    if (rc == PMIX_SUCCESS && count > 0 && (size_t)count < data->len) {
        PMIX_INFO_CREATE(*info, (size_t)count);
        rc = PMIx_Data_unpack(NULL, &from, *info, &count, PMIX_INFO);
        *n = (size_t)count;
    }
    PMIX_DATA_BUFFER_DESTRUCT(&from);
    return rc == PMIX_SUCCESS ? 0 : -1;
}

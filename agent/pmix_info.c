// Arrays of keys for libpmix.
#include "agent/pmix_info.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

static pmix_info_t *next(struct pmixd_info *i)
{
    if (i->n == i->cap) {
        i->cap = i->cap > 0 ? i->cap * 2 : 16;
        i->v = xrealloc(i->v, i->cap, sizeof *i->v);
    }
    return &i->v[i->n++];
}

void pmixd_info_add_string(struct pmixd_info *i, const char *key, const char *value)
{
    PMIX_INFO_LOAD(next(i), key, value, PMIX_STRING);
}

void pmixd_info_add_bool(struct pmixd_info *i, const char *key, bool value)
{
    PMIX_INFO_LOAD(next(i), key, &value, PMIX_BOOL);
}

void pmixd_info_add_u16(struct pmixd_info *i, const char *key, uint16_t value)
{
    PMIX_INFO_LOAD(next(i), key, &value, PMIX_UINT16);
}

void pmixd_info_add_u32(struct pmixd_info *i, const char *key, uint32_t value)
{
    PMIX_INFO_LOAD(next(i), key, &value, PMIX_UINT32);
}

void pmixd_info_add_size(struct pmixd_info *i, const char *key, size_t value)
{
    PMIX_INFO_LOAD(next(i), key, &value, PMIX_SIZE);
}

void pmixd_info_add_bytes(struct pmixd_info *i, const char *key, const uint8_t *data,
                          size_t len)
{
    CLEANUP_FREE uint8_t *copy = xmemdup(data, len);
    pmix_byte_object_t bytes = {.bytes = (char *)copy, .size = len};
    PMIX_INFO_LOAD(next(i), key, &bytes, PMIX_BYTE_OBJECT);
}

void pmixd_info_add_rank(struct pmixd_info *i, const char *key, pmix_rank_t value)
{
    PMIX_INFO_LOAD(next(i), key, &value, PMIX_PROC_RANK);
}

void pmixd_info_add_proc(struct pmixd_info *i, const char *key,
                         const pmix_proc_t *value)
{
    PMIX_INFO_LOAD(next(i), key, value, PMIX_PROC);
}

void pmixd_info_add_procs(struct pmixd_info *i, const char *key, const pmix_proc_t *v,
                          size_t n)
{
    CLEANUP_FREE pmix_proc_t *copy = xmemdup(v, n * sizeof *v);
    pmix_data_array_t array = {.type = PMIX_PROC, .size = n, .array = copy};
    PMIX_INFO_LOAD(next(i), key, &array, PMIX_DATA_ARRAY);
}

void pmixd_info_add_regex_steal(struct pmixd_info *i, const char *key, char *regex)
{
    PMIX_INFO_LOAD(next(i), key, regex, PMIX_REGEX);
    free(regex);
}

void pmixd_info_add_array(struct pmixd_info *i, const char *key,
                          struct pmixd_info *inner)
{
    // libpmix frees arrays itself: the memory must come from its own constructor.
    pmix_data_array_t *array = xcalloc(1, sizeof *array);
    PMIX_DATA_ARRAY_CONSTRUCT(array, inner->n, PMIX_INFO);
    if (inner->n > 0)
        memcpy(array->array, inner->v, inner->n * sizeof *inner->v);
    free(inner->v);
    *inner = (struct pmixd_info)PMIXD_INFO_INIT;
    pmix_info_t *info = next(i);
    PMIX_INFO_CONSTRUCT(info);
    PMIX_LOAD_KEY(info->key, key);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
}

void pmixd_info_free(struct pmixd_info *i)
{
    for (size_t k = 0; k < i->n; k++)
        PMIX_INFO_DESTRUCT(&i->v[k]);
    free(i->v);
    *i = (struct pmixd_info)PMIXD_INFO_INIT;
}

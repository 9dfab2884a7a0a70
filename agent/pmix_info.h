// A growing array of pmix_info_t, as libpmix wants its keys.
#ifndef MUSTER_AGENT_PMIX_INFO_H
#define MUSTER_AGENT_PMIX_INFO_H

#include <pmix_common.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmixd_info {
    pmix_info_t *v; // owned, with all values
    size_t n, cap;
};

#define PMIXD_INFO_INIT                                                                \
    {                                                                                  \
        0                                                                              \
    }
#define PMIXD_INFO_AUTO __attribute__((cleanup(pmixd_info_free))) struct pmixd_info

// All copy.
void pmixd_info_add_string(struct pmixd_info *i, const char *key, const char *value);
void pmixd_info_add_bool(struct pmixd_info *i, const char *key, bool value);
void pmixd_info_add_u16(struct pmixd_info *i, const char *key, uint16_t value);
void pmixd_info_add_u32(struct pmixd_info *i, const char *key, uint32_t value);
void pmixd_info_add_size(struct pmixd_info *i, const char *key, size_t value);
void pmixd_info_add_bytes(struct pmixd_info *i, const char *key, const uint8_t *data,
                          size_t len);
void pmixd_info_add_rank(struct pmixd_info *i, const char *key, pmix_rank_t value);
void pmixd_info_add_proc(struct pmixd_info *i, const char *key,
                         const pmix_proc_t *value);
void pmixd_info_add_procs(struct pmixd_info *i, const char *key, const pmix_proc_t *v,
                          size_t n);
// A regular expression made by PMIx_generate_regex or _ppn; takes it over.
void pmixd_info_add_regex_steal(struct pmixd_info *i, const char *key, char *regex);
// An array of keys under one key; `inner` is empty afterwards.
void pmixd_info_add_array(struct pmixd_info *i, const char *key,
                          struct pmixd_info *inner);
void pmixd_info_free(struct pmixd_info *i);

#endif

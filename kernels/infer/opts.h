// Options of muster-infer.
#ifndef MUSTER_KERNELS_INFER_OPTS_H
#define MUSTER_KERNELS_INFER_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/strv.h"
#include "kernels/comm/gpu_way.h"
#include "kernels/compute/compute.h"
#include "kernels/infer/place.h"
#include "kernels/infer/sampler.h"

enum { OPTS_FAILED = 125 }; // exit code of wrong options

enum opts_role { OPTS_ALL, OPTS_PREFILL, OPTS_DECODE };

struct opts {
    const char *model;       // file
    const char *model_name;  // default: the file's name
    const char *tokenizer;   // file; NULL: bytes
    struct place_wish place; // --tp, --pp
    struct strv prompts;
    const char *listen;      // NULL: prompts only
    const char *make_random; // NULL: a model is used
    enum compute_kind compute;
    enum gpu_way_kind gpu_way;
    enum opts_role role;
    const char *kv_listen; // prefill; NULL: at $MASTER_PORT
    const char *prefill;   // decode: its leader; NULL: $MUSTER_ROLE_FILE says it
    uint32_t max_tokens, slots, rows, waiting;
    struct sampler_how how;
    bool json;
};

// Ends the process with --help, --version and wrong options. Texts are argv's.
void opts_parse(int argc, char **argv, struct opts *o);
void opts_free(struct opts *o);

#endif

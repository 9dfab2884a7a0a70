// libFuzzer target for a model's checkpoint: what is taken has the size that its head says.
#include <string.h>

#include "demand.h"
#include "kernels/model/llama2c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    struct model_config c;
    if (llama2c_check("f", data, size, &c, &err) < 0) {
        demand_error(&err);
        demand(strncmp(err_text(&err), "f: offset ", 10) == 0,
               "an error without a place");
        return 0;
    }
    size_t tables = (size_t)c.seq_len * (model_head_dim(&c) / 2) * 2;
    demand(size == MODEL_HEADER_BYTES +
                       (model_layout_of(&c).count + tables) * sizeof(float),
           "a file of another size was taken");
    return 0;
}

"""deepspeed_step.py FOLDER: three steps of data-parallel SGD by DeepSpeed; each rank writes what it has then.

Ends with the second attempt: in the first one all ranks wait for a failure, when they have met.
"""
import os
import pathlib
import sys
import time

import deepspeed
import torch

# A shared-memory path that DeepSpeed would compile first: newer torch has what it includes, Debian 12's has not.
deepspeed.ops.__compatible_ops__['deepspeed_shm_comm'] = False
deepspeed.init_distributed(dist_backend='gloo', verbose=False)
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.125),
                                  config={'train_micro_batch_size_per_gpu': 1, 'train_batch_size': 4})
# The gradient is the rank's number; all ranks' mean is 1.5.
x = torch.full((1, 1), float(engine.global_rank))
for _ in range(3):
    engine.backward(engine(x).sum())
    engine.step()
attempt = os.environ['MUSTER_ATTEMPT']
weight = model.weight.item()
path = pathlib.Path(sys.argv[1], f'met.{attempt}.{engine.global_rank}')
path.write_text(f'{engine.world_size} ranks, local {engine.local_rank}, weight {weight}\n', encoding='utf-8')
if attempt == '1':
    time.sleep(1000)

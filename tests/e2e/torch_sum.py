"""A training-like program of torch.distributed: in the first attempt all ranks meet, and wait.

torch_sum.py DIR: writes DIR/met.ATTEMPT.RANK with the sum over all ranks.
"""
import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
number = torch.tensor([rank + 1])
dist.all_reduce(number)
attempt = os.environ["MUSTER_ATTEMPT"]
with open(f"{sys.argv[1]}/met.{attempt}.{rank}", "w") as f:
    f.write(f"{size} ranks, sum {number.item()}, local rank {os.environ['LOCAL_RANK']}\n")
if attempt == "1":
    time.sleep(1000)
dist.barrier()

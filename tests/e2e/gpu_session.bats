#!/usr/bin/env bats
# kernels/gpu-session.sh and gpu-regs, as far as they go without a GPU.

bats_require_minimum_version 1.5.0

setup() {
  load helper
  cd "$MUSTER_SRCDIR"
  PATH=$PATH:/usr/local/cuda/bin
}

@test "a session without a GPU runs dry: each step is named, none is run, and why is told" {
  [ ! -e /dev/nvidia0 ] || skip "there is a GPU here: the session itself is the test"
  run -0 timeout 60 kernels/gpu-session.sh "$MUSTER_BUILDDIR"
  [[ $output == *"all is skipped: "* ]]
  [ "$(grep -c '^-- .*: would run: ' <<<"$output")" = 7 ]
  [ "$(grep -cE ' skipped *$' <<<"$output")" = 7 ]
  [[ $output == *"by NCCL, 1 rank: would run: "*"--comm nccl"*"4 ranks, staged by MPI: would run: "*"-n 4 "*"--comm mpi"* ]]
  [[ $output != *" pass "* ]]
}

@test "no kernel spills its registers on the oldest architecture" {
  command -v nvcc >/dev/null || skip "nvcc is missing"
  run -0 timeout 120 kernels/gpu-regs 75
  [[ ${lines[-1]} == *" kernels, 0 of them spill" ]]
  [ "${lines[-1]%% *}" -gt 20 ]
}

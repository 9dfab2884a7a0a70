#!/usr/bin/env bats
# contrib/k8s on emulated pods: what kubectl would send is what runs, by tests/k8s/translate.

setup() {
  load helper
  load muster
  load k8s
  bed_setup
  k8s_need_renderer
  k8s_bed
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || [ ! -d "${logs:-/nowhere}" ] || k8s_logs
  bed_teardown
}

# The user's program, and fewer ranks.
hello=(-e "s#python3\$#$MUSTER_BUILDDIR/tests/mpi/hello#" -e '/train\.py$/d' -e 's/--ppn=8/--ppn=2/' -e 's/slots=8/slots=2/')

# all_said LOG: 8 ranks of hello, each on a pod's address.
all_said() {
  cat "$logs/$1"
  [ "$(grep -c 'of 8' "$logs/$1")" = 8 ]
}

@test "statefulset: 4 pods, not root, read-only; Open MPI ranks on all" {
  k8s_mine statefulset "${hello[@]}"
  run -0 k8s_run train-0/train
  echo "$output"
  all_said train-0.train.log
}

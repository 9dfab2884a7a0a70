#!/usr/bin/env bats
# mpi4py's own test suite on 4 pods: the parts that lean on the launcher most. All of it,
# beside mpirun: ./dev parity mpi4py.

setup() {
  load helper
  load muster
  load mpi4py
  bed_setup
  why=$(mpi4py_make) || skip "$why"
}

teardown() { bed_teardown; }

# suite PYTHON RUN-OPTIONS... -- SUITE-OPTIONS...: all ranks have to say OK; sets status.
suite() {
  local python=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  run lead timeout 150 "$muster" run -q --pods 'train-[0-3].train' --grace 0 --timeout 140 \
    --output "$shared/out" -x "TMPDIR=$shared" -x OMPI_MCA_mpi_yield_when_idle=1 \
    "${options[@]}" "$python" "$mpi4py/test/main.py" "$@"
  tail -n 3 "$shared/out"/rank.[0-7].err
}

# Ranks 0 to N-1 are the suite's own, what they spawn comes after them.
all_ok() {
  local r
  for ((r = 0; r < $1; r++)); do grep -q '^OK' "$shared/out/rank.$r.err" || return 1; done
  grep -q '^Ran [1-9]' "$shared/out/rank.0.err"
}

@test "Open MPI, 1 a pod: spawn, accept and connect, publish" {
  mpi4py_pods 4
  suite "$python" --slots 1 -- -i 'test_(spawn|dynproc)' -x Multiple
  [ "$status" = 0 ]
  all_ok 4
}

@test "Open MPI, 2 a pod: communicators across pods, objects sent" {
  mpi4py_pods 4
  suite "$python" --slots 2 -- -i 'test_(comm_inter|p2p_obj)'
  [ "$status" = 0 ]
  all_ok 8
}

@test "MPICH 5 over PMI-1, 1 a pod: spawn, accept and connect, publish" {
  mpi4py_pods 4
  suite "$mpi4py/mpich/bin/python" --pmi pmi1 --slots 1 -- -i 'test_(spawn|dynproc)' -x Multiple
  [ "$status" = 0 ]
  all_ok 4
}

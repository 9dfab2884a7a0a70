#!/usr/bin/env bats
# PMIx beyond MPI_Init: names, connect, spawn, events; over pods.

setup() {
  load helper
  load muster
  bed_setup
}

teardown() { bed_teardown; }

@test "MPI_Publish_name, Lookup_name, Unpublish_name across pods" {
  agents_up 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 2 \
    "$mpi/publish"
  [ "$status" = 0 ]
  [ "$(grep -c '^rank [0-3] of 4: names right$' <<<"$output")" = 4 ]
}

@test "MPI_Comm_accept, connect, disconnect between parts of a job, across pods" {
  agents_up 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 2 \
    "$mpi/accept"
  [ "$status" = 0 ]
  [ "$(grep -c '^rank [0-3] of 4: sums across right$' <<<"$output")" = 4 ]
}

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

# ---- spawn -------------------------------------------------------------------

@test "MPI_Comm_spawn: on the slots that are free, on members without a rank so far" {
  agents_up 3
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-2].train' --slots 2 \
    -n 1 "$mpi/spawn" 4
  [ "$status" = 0 ]
  [[ "$output" == *"parent 0 of 1 on train-0, env 0 of 1, facing 4"* ]]
  [[ "$output" == *"together 5"* ]]
  for child in "0 of 4 on train-0" "1 of 4 on train-1" "2 of 4 on train-1" "3 of 4 on train-2"; do
    [[ "$output" == *"child $child, env ${child%% *} of 4, facing 1"* ]]
  done
  [[ "$stderr" != *oversubscribed* ]]
  wait_for 5 nothing_left 3
}

@test "MPI_Comm_spawn: no rank goes to a member that failed its check" {
  agents_up 3
  # shellcheck disable=SC2016  # the check expands it
  echo '[ "$MUSTER_MEMBER" != train-1.train ] || kill -SEGV $$' >"$BATS_TEST_TMPDIR/cm/check"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-2].train' --slots 2 --on-failure restart \
    --check before --check-command 'sh /etc/muster/group/check' \
    -n 1 "$mpi/spawn" 3
  [ "$status" = 0 ]
  [[ "$stderr" == *"member train-1.train "*" is not fit for ranks"* ]]
  for child in "0 of 3 on train-0" "1 of 3 on train-2" "2 of 3 on train-2"; do
    [[ "$output" == *"child $child,"* ]]
  done
}

@test "MPI_Comm_spawn_multiple, twice, nested; no free slots is said once" {
  agents_up 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 \
    "$mpi/spawn" 2 multiple
  [ "$status" = 0 ]
  [[ "$output" == *"together 5"* ]]
  [[ "$output" == *"child 2 is the second, appnum 1"* ]]
  [ "$(grep -c oversubscribed <<<"$stderr")" = 1 ]
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 \
    "$mpi/spawn" 2 twice
  [ "$status" = 0 ]
  [ "$(grep -c 'together 4' <<<"$output")" = 2 ]
  [ "$(grep -c oversubscribed <<<"$stderr")" = 1 ]
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 4 \
    -n 2 "$mpi/spawn" 3 nested
  [ "$status" = 0 ]
  [ "$(grep -c '^child .*facing 3' <<<"$output")" = 1 ]
  wait_for 5 nothing_left 2
}

@test "a spawn of a program that is not there is an error for its parent" {
  agents_up 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 2 \
    -n 1 "$mpi/spawn" 2 missing
  [ "$status" = 0 ]
  [ "$output" = "spawn of nothing: an error" ]
  [[ "$stderr" == *"cannot spawn"*"/no/such/program"* ]]
  # Open MPI 4 leaves the other ranks in a broadcast then: the job ends, as under mpirun.
  run -127 --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' \
    --slots 2 -n 2 --grace 1 "$mpi/spawn" 2 missing
  [ "$(grep -c '^muster: ' <<<"$stderr")" = 1 ]
  [[ "$stderr" == "muster: rank 0 on train-0"*"cannot spawn: member "*"/no/such/program: No such file"* ]]
}

@test "a spawned rank that fails ends the job, with its code and its name" {
  agents_up 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 2 \
    --grace 1 -n 2 "$mpi/spawn" 2 die
  echo "$stderr"
  [ "$status" = 5 ]
  [[ "$stderr" == *"rank 0 of spawned world 1 on train-1.train ("*"exit code 5"* ]]
  wait_for 5 nothing_left 2
}

@test "a pod with spawned ranks only is killed: the job ends, nothing is left" {
  agents_up 3
  out=$BATS_TEST_TMPDIR/out
  lead "$muster" run --pods 'train-[0-2].train' --slots 1 --grace 1 -n 1 \
    "$mpi/spawn" 2 wait >"$out" 2>&1 &
  launcher_job=$!
  wait_for 30 grep -q 'together 3' "$out"
  "$podbox" kill train-2
  ends_within 30 "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-2.*a spawned rank is gone' "$out"
  wait_for 5 nothing_left 2
}

@test "a pod with spawned ranks only: what is found after their end counts from their begin" {
  agents_up 2
  out=$BATS_TEST_TMPDIR/out
  "$podbox" exec train-1 touch /dev/shm/before
  lead "$muster" run --pods 'train-[0-1].train' --slots 1 --grace 1 -n 1 "$mpi/spawn" 1 wait >"$out" 2>&1 3>&- &
  launcher_job=$!
  wait_for 30 grep -q 'together 2' "$out"
  "$podbox" exec train-1 touch /dev/shm/left
  kill -KILL "$(pids_of train-1 'mpi/spawn' | head -1)"
  ends_within 20 "$launcher_job"
  [ "$code" = 137 ]
  grep "^muster: warning: member train-1.train .* after the ranks' end: /dev/shm has [0-9]* file" "$out" >"$out.found"
  grep -qw left "$out.found"
  run ! grep -qw before "$out.found"
}

@test "spawn in a tree of depth 3: worlds and connects pass through" {
  agents_up 5
  run --separate-stderr lead timeout 90 "$muster" run --fanout 1 --pods 'train-[0-4].train' \
    --slots 1 -n 2 "$mpi/spawn" 3
  [ "$status" = 0 ]
  [[ "$output" == *"together 5"* ]]
}

@test "a spawned program that never calls MPI_Init ends the job: its parent would wait" {
  agents_up 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 \
    -n 1 "$mpi/spawn" 1 plain
  [ "$status" = 1 ]
  [[ "$stderr" == *"rank 0 of spawned world 1 on train-1.train ("*"without MPI_Init"* ]]
}

#!/usr/bin/env bats
# Debian's MPICH, unmodified, over PMI-1: the same programs as with Open MPI.

setup() {
  load helper
  load muster
  mpich=$MUSTER_BUILDDIR/tests/mpich
  [ -x "$mpich/hello" ] || skip "no $mpich/hello: install libmpich-dev, then make"
}

teardown() { bed_teardown; }

# hello_lines N "RANK HOST SHARED"...: hello's lines for a world of N.
hello_lines() {
  local n=$1 line
  shift
  for line in "$@"; do
    read -r rank host shared <<<"$line"
    grep -qx "rank $rank of $n on $host, shared $shared" <<<"$output"
  done
  [ "$(grep -c '^rank ' <<<"$output")" = "$n" ]
}

# over_tcp N PATTERN RUN-OPTIONS...: a run in the leader pod until N of its lines match; sets
# output. Debian's MPICH 4.0.2 with UCX 1.13.1 hangs at random in MPI_Finalize over TCP, under
# its own mpiexec too (doc/MPI.md): the end of such a run is not waited for.
over_tcp() {
  local n=$1 pattern=$2 out=$BATS_TEST_TMPDIR/out pid
  shift 2
  lead timeout 60 "$muster" run --grace 0 "$@" >"$out" 2>/dev/null 3>&- &
  pid=$!
  wait_for 60 matches "$n" "$pattern" "$out"
  kill -TERM $pid 2>/dev/null || true
  wait $pid || true
  output=$(cat "$out")
}

matches() { [ "$(grep -c "$2" "$3")" = "$1" ]; }

@test "on this machine: hello, ring, allreduce with shared memory, --pmi pmi1 and auto" {
  for pmi in pmi1 auto; do
    run --separate-stderr timeout 60 "$muster" run --pmi "$pmi" -n 4 "$mpich/hello"
    [ "$status" = 0 ]
    [ "$(grep -c 'of 4 on .*, shared 4' <<<"$output")" = 4 ]
    run timeout 60 "$muster" run --pmi "$pmi" -n 4 "$mpich/ring"
    [ "$status" = 0 ]
    run timeout 60 "$muster" run --pmi "$pmi" -n 4 "$mpich/allreduce"
    [ "$status" = 0 ]
  done
}

@test "MPI_Publish_name, Lookup_name, Unpublish_name over PMI-1" {
  for pmi in pmi1 auto; do
    run timeout 60 "$muster" run --pmi "$pmi" -n 4 "$mpich/publish"
    [ "$status" = 0 ]
    [ "$(grep -c '^rank [0-3] of 4: names right$' <<<"$output")" = 4 ]
  done
}

@test "with --pmi pmix MPICH ranks are alone: the right --pmi matters" {
  run timeout 60 "$muster" run --pmi pmix -n 2 "$mpich/hello"
  [ "$(grep -c 'rank 0 of 1 on' <<<"$output")" = 2 ]
}

@test "8 ranks on 4 pods: hello, ring, allreduce, DNS and ordinal names" {
  bed_setup
  agents_up 4
  over_tcp 8 '^rank ' --pmi pmi1 --dns train --slots 2 -n 8 "$mpich/hello"
  hello_lines 8 "0 train-0 2" "1 train-0 2" "2 train-1 2" "3 train-1 2" "4 train-2 2" \
    "5 train-2 2" "6 train-3 2" "7 train-3 2"
  over_tcp 1 'ring of 8: sum 28, right' --pods 'train-[0-3].train' --slots 2 "$mpich/ring"
  over_tcp 5 '^allreduce of 8: .* right$' --pods 'train-[0-3].train' --slots 2 \
    "$mpich/allreduce"
}

@test "uneven slots: 3, 1 and 2 ranks" {
  bed_setup
  agents_up 3
  over_tcp 6 '^rank ' --host \
    "$("$podbox" ip train-0):3,$("$podbox" ip train-1):1,$("$podbox" ip train-2):2" \
    "$mpich/hello"
  hello_lines 6 "0 train-0 3" "1 train-0 3" "2 train-0 3" "3 train-1 1" "4 train-2 2" \
    "5 train-2 2"
}

@test "a tree of depth 3: fan-out 2 over 7 pods" {
  bed_setup
  agents_up 7
  over_tcp 7 'of 7 on train-[0-6], shared 1' --fanout 2 --pods 'train-[0-6].train' --slots 1 \
    "$mpich/hello"
}

@test "MPI_Abort gives its code and is told as the cause" {
  bed_setup
  agents_up 2
  run lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 2 "$mpich/abort" 2 7
  [ "$status" = 7 ]
  [[ "$output" == *"muster: rank 2 on train-1"*"MPI_Abort(7)"* ]]
  [ "$(grep -c '^muster: ' <<<"$output")" = 1 ]
}

@test "a rank that leaves without MPI_Finalize, or never calls MPI_Init, ends the job" {
  run timeout 60 "$muster" run -n 3 "$mpich/die" 1 5
  [ "$status" = 5 ]
  run timeout 60 "$muster" run -n 3 "$mpich/die" 1 0
  [ "$status" = 1 ]
  [[ "$output" == *"rank 1 "*"MPI_Finalize"* ]]
  run timeout 60 "$muster" run -n 2 sh -c "[ \$RANK = 1 ] || exec '$mpich/hello'"
  [ "$status" = 1 ]
  [[ "$output" == *"rank 1 "*"without MPI_Init"* ]]
}

@test "kill -9 of a rank in MPI: exit 137, the rank is named, nothing is left" {
  bed_setup
  agents_up 4
  measure_launch --pods 'train-[0-3].train' --slots 2
  mpi=$mpich
  start_hang --pods 'train-[0-3].train' --slots 2 --grace 1
  kill -KILL "$(pids_of train-2 tests/mpich/hang | head -1)"
  ends_within "$(bound_s 2)" "$launcher_job"
  [ "$code" = 137 ]
  [ "$(grep -c '^muster: rank [45] on train-2.*signal 9 (SIGKILL)' "$out")" = 1 ]
  wait_for "$(bound_s 1)" nothing_left 4
}

@test "kill -9 of a rank while its peers wait in MPI_Init ends the job at once" {
  out=$BATS_TEST_TMPDIR/out
  "$muster" run -n 4 --grace 1 sh -c "[ \$RANK = 3 ] || exec '$mpich/hello'
    echo pid \$\$; exec sleep 1000" >"$out" 2>&1 &
  pid=$!
  wait_for 30 grep -q '^pid ' "$out"
  kill -KILL "$(sed -n 's/^pid //p' "$out")"
  ends_within 20 "$pid"
  [ "$code" = 137 ]
  grep -q '^muster: rank 3 .*SIGKILL' "$out"
}

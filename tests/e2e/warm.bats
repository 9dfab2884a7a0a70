#!/usr/bin/env bats
# A keeper and a PMIx server that stand by: taken by the next launch, replaced, and gone with
# their agent.

setup() {
  load helper
  load muster
  bed_setup
  agents_up 2
}

teardown() { bed_teardown; }

run_true() { lead timeout 60 "$muster" run --pods 'train-[0-1].train' "$@" true; }

@test "a launch takes what stands by, and it is replaced" {
  wait_for 20 all_stand_by 2
  before=$(standing_by train-1)
  out=$BATS_TEST_TMPDIR/out
  lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 "$mpi/hang" \
    >"$out" 2>&1 3>&- &
  launcher=$!
  wait_for 30 ranks_running 2
  grep -qx "$(pids_of train-1 'musterd keeper')" <<<"$before"
  grep -qx "$(pids_of train-1 '/muster-pmixd$' ' keeper ')" <<<"$before"
  wait_for 20 all_stand_by 2
  lead pkill -INT -x muster
  ends_within 30 "$launcher"
  nothing_left 2
  run_true --pmi none
  wait_for 20 all_stand_by 2
}

@test "what stands by and dies is replaced; a launch in between does not need it" {
  wait_for 20 all_stand_by 2
  # shellcheck disable=SC2046  # pids
  kill -KILL $(standing_by train-0) $(standing_by train-1)
  run_true
  run_true --pmi none
  wait_for 20 all_stand_by 2
}

@test "what stands by ends with its agent" {
  wait_for 20 all_stand_by 2
  kill -KILL "$(pids_of train-0 "$musterd\$")"
  kill -TERM "$(pids_of train-1 "$musterd\$")"
  wait_for 10 sh -c "! '$podbox' ps train-0 | grep -q keeper"
  wait_for 10 sh -c "! '$podbox' ps train-1 | grep -q keeper"
}

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

# standby POD: host pids of what stands by there.
standby() {
  local pid command
  "$podbox" ps "$1" | while read -r pid command; do
    grep -qs standby "/proc/$pid/comm" && echo "$pid"
  done || true
}

# Two keepers, one of them with a PMIx server.
all_stand_by() {
  [ "$(standby train-0 | wc -l)" = 3 ] && [ "$(standby train-1 | wc -l)" = 3 ]
}

run_true() { lead timeout 60 "$muster" run --pods 'train-[0-1].train' "$@" true; }

@test "a launch takes what stands by, and it is replaced" {
  wait_for 20 all_stand_by
  before=$(standby train-1)
  out=$BATS_TEST_TMPDIR/out
  lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 "$mpi/hang" \
    >"$out" 2>&1 3>&- &
  launcher=$!
  wait_for 30 ranks_running 2
  grep -qx "$(pids_of train-1 'musterd keeper')" <<<"$before"
  grep -qx "$(pids_of train-1 '/muster-pmixd$' ' keeper ')" <<<"$before"
  wait_for 20 all_stand_by
  lead pkill -INT -x muster
  ends_within 30 "$launcher"
  nothing_left 2
  run_true --pmi none
  wait_for 20 all_stand_by
}

@test "what stands by and dies is replaced; a launch in between does not need it" {
  wait_for 20 all_stand_by
  # shellcheck disable=SC2046  # pids
  kill -KILL $(standby train-0) $(standby train-1)
  run_true
  run_true --pmi none
  wait_for 20 all_stand_by
}

@test "what stands by ends with its agent" {
  wait_for 20 all_stand_by
  kill -KILL "$(pids_of train-0 "$musterd\$")"
  kill -TERM "$(pids_of train-1 "$musterd\$")"
  wait_for 10 sh -c "! '$podbox' ps train-0 | grep -q keeper"
  wait_for 10 sh -c "! '$podbox' ps train-1 | grep -q keeper"
}

#!/usr/bin/env bats
# A training run goes through failures of all kinds in one job, resumes each time from its last
# checkpoint, and ends bit-identical to one that nothing disturbed. And a short soak, each fault
# of which is checked (./dev soak is the long one).
#
# TRAIN_SEED (the time; printed). MUSTER_LONG=1: 20 failures, and 40 faults.

setup() {
  load helper
  load muster
  load ../soak/bed
  load ../soak/faults
  bed_setup
  work=$BATS_TEST_TMPDIR
  bound=60
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || [ ! -f "${out:-}" ] || tail -n 20 "$out" "$err"
  bed_teardown
}

# strike KIND POSITION: when it returns the ranks write checkpoints again.
strike() {
  local before line
  before=$(attempt_now) line=$(lines_now)
  "fault_$1" "$2"
  [ "${fault_kinds[$1]}" = again ] || before=$((before - 1))
  wait_for "$bound" moves "$before" "$line"
  wait_for "$bound" ranks_right
  [ -z "$(twins 0)" ]
}

@test "a job that random failures hit ends as one that none did, bit for bit" {
  local seed=${TRAIN_SEED:-$EPOCHSECONDS} failures=5 again=0 i kinds
  [ -z "${MUSTER_LONG:-}" ] || failures=20
  echo "seed $seed"
  RANDOM=$((seed % 32768))
  soak_bed 4 2
  start_job tree 5
  job_started=$job
  wait_for "$bound" moves 0 0
  for ((i = 0; i < failures; i++)); do
    ((i % 6)) || mapfile -t kinds < <(printf '%s\n' rank keeper pmixd agent pod reset |
      while read -r kind; do echo "$RANDOM $kind"; done | sort -n | cut -d' ' -f2)
    position=$((RANDOM % 4))
    echo "failure $i: ${kinds[i % 6]} at position $position"
    strike "${kinds[i % 6]}" "$position"
    [ "${kinds[i % 6]}" = reset ] || ((++again))
  done
  stop_job
  end_of_job
  [ "$job" = "$job_started" ] # it was the same job all the time
  [ "$code" = 0 ]
  disturbed=$digest
  [ "$(attempt_now)" = $((1 + again)) ]
  rest
  start_job tree 0 "$step"
  end_of_job
  [ "$code" = 0 ]
  [ "$(attempt_now)" = 1 ]
  [ "$digest" = "$disturbed" ]
  result_right
  wait_for 20 idle_right
}

@test "a short soak: random faults, star and tree, and all that must hold" {
  local faults=6 per_job=1 # in each setting a star and a tree
  [ -z "${MUSTER_LONG:-}" ] || faults=40 per_job=4
  run -0 timeout $((faults * 90)) bash "$MUSTER_SRCDIR/tests/soak/run.sh" --pods 4 --faults "$faults" \
    --per-job "$per_job" --only rank,deaf,holder,keeper,pmixd,agent,container,pod,reset,cut,relaunch,spare,led 3>&-
  [[ $output == *": no violation"* ]]
}

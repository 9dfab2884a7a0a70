#!/usr/bin/env bats
# Launchers without --job: nobody knows that the second one is the first begun anew. Ranks of a
# launcher that is gone never run beside those of another one; those of two that live do.

setup() {
  load helper
  load muster
  bed_setup
  out=$BATS_TEST_TMPDIR/out
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 40 "$BATS_TEST_TMPDIR"/out* || true
  bed_teardown
}

# A rank that finds another one at its place says so; it ends when /tmp/stop is there.
# shellcheck disable=SC2016  # the ranks' shell expands it
alone='exec 9>/tmp/place; flock -n 9 || { echo "TWIN of $RANK"; exit 9; }; echo "rank $RANK runs"
  until [ -e /tmp/stop ]; do sleep 0.05; done; echo "done $RANK"'

# start POD OUT RUN-OPTIONS... COMMAND...: in the background; sets job.
start() {
  local pod=$1 to=$2
  shift 2
  "$podbox" exec "$pod" timeout 100 "$muster" run --pods 'train-[0-6].train' --slots 1 --fanout 2 \
    --pmi none --grace 1 --link-grace 1 "$@" >"$to" 2>&1 3>&- &
  job=$!
}

launcher_pid() { pids_of "$1" '^[0-9]+ [^ ]*muster run' | head -1; }

running() { [ "$(grep -c '^rank . runs' "$1")" = 7 ]; }

stop_ranks() {
  local i
  for i in {0..6}; do "$podbox" exec "train-$i" touch /tmp/stop; done
}

@test "a launcher is killed and begun anew at once, in a tree: the old ranks end first" {
  agents_up 7
  start train-0 "$out" --orphan-grace 30 bash -c "$alone"
  wait_for 30 running "$out"
  kill -KILL "$(launcher_pid train-0)"
  start train-0 "$out.second" bash -c "$alone"
  wait_for 30 running "$out.second"
  stop_ranks
  ends_within 20 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c '^done' "$out.second")" = 7 ]
  run ! grep TWIN "$out" "$out.second"
  grep -q '^muster: warning: member .*ranks of a launcher on train-0 that did not answer were killed first' "$out.second"
  wait_for 5 nothing_left 7
}

@test "a launcher is frozen, another one takes its place: it stands down when it thaws; two that live share" {
  agents_up 7
  start train-0 "$out" --on-failure restart --orphan-grace 30 bash -c "$alone"
  first=$job
  wait_for 30 running "$out"
  frozen=$(launcher_pid train-0)
  kill -STOP "$frozen"
  start train-1 "$out.second" bash -c "$alone"
  wait_for 30 running "$out.second"
  kill -CONT "$frozen"
  ends_within 20 "$first"
  [ "$code" = 125 ]
  grep -q '^muster: member .* was given to another launcher, on train-1, while this one did not answer' "$out"
  [ "$(grep -c '^rank . runs' "$out")" = 7 ] # no second attempt
  begun=$(ms)
  start train-2 "$out.third" bash -c 'echo "rank $RANK runs"'
  ends_within 20 "$job" # beside the second one's
  [ "$code" = 0 ]
  running "$out.third"
  stop_ranks
  run ! grep TWIN "$out" "$out.second"
  wait_for 5 nothing_left 7
}

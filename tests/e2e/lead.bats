#!/usr/bin/env bats
# One job through all that can befall its leader, in a star and in a tree of depth 3: the launcher
# killed, its container started anew, its pod replaced; and while it claims.

setup() {
  load helper
  load muster
  bed_setup
  out=$BATS_TEST_TMPDIR/out
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || {
    tail -n 40 "$BATS_TEST_TMPDIR"/out*
    lead tail -n 60 /tmp/events
  } || true
  bed_teardown
}

# A rank beside one of another attempt says so; the job ends in the attempt of /tmp/last.
# shellcheck disable=SC2016  # the ranks' shell expands it
ranks_say='exec 9>/tmp/place; flock -n 9 || { echo "TWIN of $RANK"; exit 9; }
  echo "attempt $MUSTER_ATTEMPT rank $RANK on $(hostname)"
  until [ "$(cat /tmp/last 2>/dev/null)" = "$MUSTER_ATTEMPT" ]; do sleep 0.05; done'

# lead_run OUT RUN-OPTIONS...: train-0's container: musterd --lead, as Kubernetes starts it.
lead_run() {
  local to=$1
  shift
  lead timeout 100 "$musterd" --lead -- "$muster" run --pods 'train-[0-6].train' --slots 1 \
    --on-failure restart --healthy 0 --same-failures 0 --grace 1 --orphan-grace 3 --link-grace 1 \
    --pmi none --events /tmp/events "$@" bash -c "$ranks_say" >"$to" 2>&1 3>&- &
  job=$!
  out=$to
}

launcher_pid() { pids_of train-0 '^[0-9]+ [^ ]*muster run' | head -1; }

at() { [ "$(grep -c "^attempt $1 rank . on train-" "$out")" = 7 ]; }

# through SHAPE-OPTION...
through() {
  local i first=$out
  pods_up 7
  for i in {1..6}; do "$podbox" exec "train-$i" -d "$musterd"; done
  lead_run "$out" "$@"
  wait_for 30 at 1
  kill -KILL "$(launcher_pid)"
  wait_for 30 at 2
  "$podbox" restart train-0 # same address, another agent
  wait "$job" || true
  lead_run "$first.2" "$@"
  wait_for 30 at 3
  "$podbox" replace train-0
  wait "$job" || true
  lead_run "$first.3" "$@"
  wait_for 30 at 4
  grep -q 'taken over from the launcher on train-0; attempt 4 begins' "$out"
  for i in {0..6}; do "$podbox" exec "train-$i" bash -c 'echo 4 >/tmp/last'; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
  grep -q 'ended well at attempt 4, after 3 restarts' "$out"
  run ! grep TWIN "$first" "$first.2" "$first.3"
  wait_for 5 nothing_left 7
  lead_run "$first.4" "$@" # and once more: it is done
  ends_within 20 "$job"
  [ "$code" = 0 ]
  grep -q 'job train-0 is done: it ended with exit code 0 at attempt 4' "$out"
}

@test "star: the launcher is killed, its container starts anew, its pod is replaced" { through; }

@test "tree of depth 3: the same" { through --fanout 2; }

@test "a second failure while it claims: a pod that does not answer is lost then, and waited for" {
  local i stopped
  pods_up 7
  for i in {1..6}; do "$podbox" exec "train-$i" -d "$musterd"; done
  lead_run "$out" --fanout 2
  wait_for 30 at 1
  stopped=$(pids_of train-6 "$musterd\$" | head -1)
  kill -STOP "$stopped"
  kill -KILL "$(launcher_pid)"
  wait_for 30 grep -q 'taken over from .*; attempt 2 begins when train-6.train .* is back' "$out"
  kill -CONT "$stopped"
  wait_for 30 at 2
  for i in {0..6}; do "$podbox" exec "train-$i" bash -c 'echo 2 >/tmp/last'; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
  run ! grep TWIN "$out"
  wait_for 5 nothing_left 7
}

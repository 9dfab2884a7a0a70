#!/usr/bin/env bats
# A launcher takes a job over: what the one before knew is carried on, and a pod that is missing
# then is waited for as at any restart.

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

# What each rank runs: it says where it is, in each attempt, and ends in the one of /tmp/last.
# shellcheck disable=SC2016  # the ranks' shell expands it
ranks_say='echo "attempt $MUSTER_ATTEMPT rank $RANK on $(hostname)"
  until [ "$(cat /tmp/last 2>/dev/null)" = "$MUSTER_ATTEMPT" ]; do sleep 0.05; done'

# start OUT RUN-OPTIONS...: a launcher in train-0, which has no agent; sets job, pid.
start() {
  local to=$1
  shift
  "$podbox" exec train-0 timeout 100 "$muster" run --job train/7 --on-failure restart --healthy 0 \
    --same-failures 0 --grace 1 --orphan-grace 1 --link-grace 0 --pmi none --slots 1 \
    --events /tmp/events "$@" bash -c "$ranks_say" >"$to" 2>&1 3>&- &
  job=$!
  out=$to
}

kill_launcher() {
  kill -KILL "$(pids_of train-0 '^[0-9]+ [^ ]*muster run' | head -1)"
  wait "$job" || true
}

# at ATTEMPT POD...: rank i of the attempt runs on the i-th of these pods.
at() {
  local attempt=$1 rank=0 pod
  shift
  for pod in "$@"; do wait_for 30 grep -qx "attempt $attempt rank $((rank++)) on $pod" "$out"; done
  [ "$(grep -c "^attempt $attempt rank" "$out")" = $# ]
}

# agents POD...
agents() {
  local pod
  for pod in "$@"; do "$podbox" exec "$pod" -d "$musterd"; done
}

# end_at ATTEMPT POD...: the ranks end well there.
end_at() {
  local attempt=$1 pod
  shift
  for pod in "$@"; do "$podbox" exec "$pod" bash -c "echo $attempt >/tmp/last"; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
}

@test "a pod is missing: a spare sits there, who was drained stays out, all others stay" {
  pods_up 6
  agents train-{1..5}
  start "$out" --pods 'train-[1-5].train' --spares 2
  at 1 train-1 train-2 train-3
  "$podbox" exec train-1 "$muster" drain train-2 --reason 'ECC errors'
  kill -KILL "$(pids_of train-3 'bash -c echo' | head -1)"
  at 2 train-1 train-4 train-5
  kill_launcher
  "$podbox" kill train-5
  start "$out.second" --pods 'train-[1-5].train' --spares 2
  at 3 train-1 train-4 train-3 # not train-2, whose agent is still there
  grep -q 'taken over from the launcher on train-0; attempt 3 begins' "$out"
  "$podbox" exec train-1 "$muster" status | grep -qE '^ *- +train-2\.train .* leaves '
  end_at 3 train-1 train-4 train-3
  grep -q 'ended well at attempt 3, after 2 restarts' "$out"
}

@test "a pod is missing and no spare is there: its replacement is waited for, in a tree; the budget goes on" {
  pods_up 8
  agents train-{1..7}
  start "$out" --pods 'train-[1-7].train' --fanout 2 --max-restarts 2
  at 1 train-{1..7}
  "$podbox" kill train-6
  "$podbox" unready train-6 # its name has no address
  kill_launcher
  start "$out.second" --pods 'train-[1-7].train' --fanout 2 --max-restarts 2
  wait_for 30 grep -q 'taken over from .*; attempt 2 begins when train-6.train is back' "$out"
  "$podbox" exec train-1 "$muster" status | grep -q 'waits for train-6.train: '
  "$podbox" replace train-6
  "$podbox" ready train-6
  agents train-6
  at 2 train-{1..7}
  kill -KILL "$(pids_of train-3 'bash -c echo' | head -1)"
  at 3 train-{1..7}
  kill_launcher
  start "$out.third" --pods 'train-[1-7].train' --fanout 2 --max-restarts 2
  ends_within 30 "$job"
  [ "$code" = 125 ]
  grep -q 'it was restarted 2 times within .*--max-restarts' "$out"
}

@test "case rst-05: the missing pod never comes back: the launcher gives up at the limit and names it" {
  pods_up 4
  agents train-{1..3}
  start "$out" --pods 'train-[1-3].train' --replace-timeout 1
  at 1 train-{1..3}
  "$podbox" kill train-3
  kill_launcher
  for n in second third; do # what has ended is done
    start "$out.$n" --pods 'train-[1-3].train' --replace-timeout 1
    ends_within 30 "$job"
    [ "$code" = 125 ]
    grep -q 'attempt 2 had no member for every position within 1 s (--replace-timeout): train-3.train' "$out"
    [ "$n" = second ] || grep -q 'job train/7 is done: it ended with exit code 125' "$out"
  done
}

@test "--timeout counts from the first launcher's ranks" {
  pods_up 3
  agents train-{1,2}
  start "$out" --pods 'train-[1-2].train' --timeout 8
  at 1 train-{1,2}
  begun=$(ms)
  kill_launcher
  wait_for 10 eval '(($(ms) - begun > 4000))'
  begun=$(ms)
  start "$out.second" --pods 'train-[1-2].train' --timeout 8
  ends_within 30 "$job"
  [ "$code" = 124 ]
  (($(ms) - begun < 7500))
}

#!/usr/bin/env bats
# Spares: members without a position take the place of lost ones at a restart, nobody else
# moves, and who comes back is a spare. --replace-hook hears of each member that is wanted.

setup() {
  load helper
  load muster
  bed_setup
  out=$BATS_TEST_TMPDIR/out
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || { cat "$out"; lead tail -n 30 /tmp/events; } || true
  bed_teardown
}

# start N RUN-OPTIONS...: a job with restarts on N pods; its ranks say where they are.
start() {
  local n=$1
  shift
  lead timeout 100 "$muster" run --on-failure restart --healthy 0 --grace 1 --orphan-grace 2 \
    --link-grace 1 --pods "train-[0-$((n - 1))].train" --events /tmp/events "$@" >"$out" 2>&1 3>&- &
  job=$!
}

# What each rank runs: it says where it is, in each attempt, and ends in the one of /tmp/last.
# shellcheck disable=SC2016  # the ranks' shell expands it
ranks_say='echo "attempt $MUSTER_ATTEMPT rank $RANK on $(hostname)"
  until [ "$(cat /tmp/last 2>/dev/null)" = "$MUSTER_ATTEMPT" ]; do sleep 0.05; done'

# at ATTEMPT POD...: rank i of the attempt runs on the i-th of these pods.
at() {
  local attempt=$1 rank=0 pod
  shift
  for pod in "$@"; do wait_for 30 grep -qx "attempt $attempt rank $((rank++)) on $pod" "$out"; done
  [ "$(grep -c "^attempt $attempt rank" "$out")" = $# ]
}

# agent POD: one that keeps a hostfile there.
agent() { "$podbox" exec "$1" -d "$musterd" --write openmpi:/tmp/hostfile; }

# seated POD...: their hostfiles have these pods, in the order of the positions.
seated() {
  local pod want
  want=$(for pod in "$@"; do echo "$("$podbox" ip "$pod") slots=2"; done)
  for pod in "$@"; do
    [ "$("$podbox" exec "$pod" tail -n +2 /tmp/hostfile)" = "$want" ]
  done
}

attached() { [ "$(lead grep '"attached"' /tmp/events | grep -c "\"$1.train\"")" = "$2" ]; }

@test "a pod is killed: the spare takes its position; it comes back as a spare, and serves for the next loss" {
  pods_up 4
  for i in 0 1 2 3; do agent "train-$i"; done
  start 4 --spares 1 --slots 2 bash -c "$ranks_say"
  at 1 train-0 train-0 train-1 train-1 train-2 train-2
  "$podbox" replace train-1
  at 2 train-0 train-0 train-3 train-3 train-2 train-2
  seated train-0 train-3 train-2
  grep -q '^muster: warning: ranks 2-3: from member train-1.train .* to the spare train-3.train' "$out"
  agent train-1
  wait_for 30 attached train-1 2
  "$podbox" replace train-2
  at 3 train-0 train-0 train-3 train-3 train-1 train-1
  seated train-0 train-3 train-1
  for i in 0 1 3; do "$podbox" exec "train-$i" bash -c 'echo 3 >/tmp/last'; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
  [ "$("$podbox" logs train-0 | grep -c 'took hold')" = 1 ] # all the time the same link
}

@test "N+1 members and -n: the last is a spare; a rank's death avoids its member; the hook" {
  agents_up 3
  # shellcheck disable=SC2016  # the hook expands it
  lead bash -c 'printf "#!/bin/bash\n%s\nexit 3\n" "$0" >/tmp/hook; chmod +x /tmp/hook' \
    'echo "$MUSTER_MEMBER $MUSTER_ADDRESS attempt $MUSTER_ATTEMPT job $MUSTER_JOB: $MUSTER_REASON"'
  start 3 -n 2 --ppn 1 --oversubscribe --replace-hook /tmp/hook bash -c "$ranks_say"
  at 1 train-0 train-1
  kill -KILL "$(pids_of train-1 'rank [$]RANK' | head -1)"
  at 2 train-0 train-2
  run ! grep -q 'replace-hook' "$out" # a member that is there is nobody's to replace
  address=$("$podbox" ip train-2)
  "$podbox" kill train-2
  at 3 train-0 train-1 # better than to wait
  wait_for 20 grep -q '^muster: warning: replace-hook: .*exit code 3' "$out"
  grep -qE "^muster: warning: replace-hook: /tmp/hook: train-2.train $address attempt 2 job [0-9a-f]{16}: .*" "$out"
  [ "$(grep -c 'hook: train-2' "$out")" = 1 ]
  for i in 0 1; do "$podbox" exec "train-$i" bash -c 'echo 3 >/tmp/last'; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
}

@test "who was replaced by order stays out, while another agent has not come" {
  agents_up 3
  start 3 -n 2 --ppn 1 --oversubscribe bash -c "$ranks_say"
  at 1 train-0 train-1
  lead "$muster" replace train-1 --reason 'ECC errors'
  at 2 train-0 train-2
  kill -KILL "$(pids_of train-2 'rank [$]RANK' | head -1)"
  at 3 train-0 train-2 # not train-1, whose agent is still there
  lead "$muster" status | grep -qE '^ *- +train-1\.train .* leaves '
  for i in 0 2; do "$podbox" exec "train-$i" bash -c 'echo 3 >/tmp/last'; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
}

@test "spares and the members that there are: what does not fit is told at once" {
  run -125 "$muster" run --spares 1 --hostfile /dev/null true
  [[ $output == *"--spares is about restarts: give --on-failure restart with it"* ]]
  key=$BATS_TEST_TMPDIR/key
  "$muster" keygen "$key" >/dev/null
  refused() {
    local text=$1
    shift
    run -125 timeout 20 "$muster" run --key "$key" --on-failure restart "$@" true
    [[ $output == *"$text"* ]]
  }
  refused '--spares 2: there are 2 members, so none is left for the ranks' --host a:2,b:2 --spares 2
  refused 'without the last 1 of 2 members (--spares): not enough slots: 4 ranks wanted, 2 slots' \
    --host a:2,b:2 --spares 1 -n 4
  refused '--spares 3 of --members 3: none is left' --dns train --members 3 --spares 3
  refused '--replace-hook ./no/such' --host a:2,b:2 --replace-hook ./no/such
}

@test "two pods of a hostfile of addresses are replaced, listed crosswise: each goes on where it was" {
  pods_up 4
  for i in 0 1 2 3; do agent "train-$i"; done
  hostfile_of 4 2
  lead timeout 100 "$muster" run --on-failure restart --healthy 0 --grace 1 --orphan-grace 2 --link-grace 1 \
    --hostfile /etc/muster/group/hostfile --ppn 1 --events /tmp/events bash -c "$ranks_say" >"$out" 2>&1 3>&- &
  job=$!
  at 1 train-0 train-1 train-2 train-3
  "$podbox" replace train-1
  "$podbox" replace train-2
  for i in 0 2 1 3; do echo "$("$podbox" ip "train-$i") slots=2"; done >"$BATS_TEST_TMPDIR/cm/hostfile"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  agent train-1
  agent train-2
  at 2 train-0 train-1 train-2 train-3
  seated train-0 train-1 train-2 train-3
  for i in 0 1 2 3; do "$podbox" exec "train-$i" sh -c 'echo 2 >/tmp/last'; done
  ends_within 20 "$job"
  [ "$code" = 0 ]
  grep -q "rank 1: from member .* to its pod, now at $("$podbox" ip train-1)" "$out"
}

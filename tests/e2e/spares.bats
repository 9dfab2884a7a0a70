#!/usr/bin/env bats
# Spares: members without a position take the place of lost ones at a restart, nobody else
# moves, and who comes back is a spare. --replace-hook hears of each member that is wanted.

setup() {
  load helper
  load muster
  load jobs
  jobs_setup
  agent_options=(--write openmpi:/tmp/hostfile)
  job_options=(--on-failure restart --healthy 0 --grace 1 --orphan-grace 2 --link-grace 1 --events /tmp/events)
}

teardown() { jobs_teardown; }

# seated POD...: their hostfiles have these pods, in the order of the positions.
seated() {
  local pod want
  want=$(for pod in "$@"; do echo "$("$podbox" ip "$pod") slots=2"; done)
  for pod in "$@"; do
    [ "$("$podbox" exec "$pod" tail -n +2 /tmp/hostfile)" = "$want" ]
  done
}

@test "a pod is killed: the spare takes its position; it comes back as a spare, and serves for the next loss" {
  pods_up 4
  agents train-{0..3}
  start 0-3 --spares 1 --slots 2 --orphan-grace 600 # not waited for: names with new addresses say that pods ended
  at 1 train-0 train-0 train-1 train-1 train-2 train-2
  "$podbox" replace train-1
  at 2 train-0 train-0 train-3 train-3 train-2 train-2
  seated train-0 train-3 train-2
  grep -q '^muster: warning: ranks 2-3: from member train-1.train .* to the spare train-3.train' "$out"
  agents train-1
  wait_for 30 attached train-1 2
  "$podbox" replace train-2
  at 3 train-0 train-0 train-3 train-3 train-1 train-1
  seated train-0 train-3 train-1
  end_at 3 train-{0,1,3}
  [ "$("$podbox" logs train-0 | grep -c 'took hold')" = 1 ] # all the time the same link
}

# 2 and 3 are below 0, 4 and 5 below 1, the spare, 6, below 2.
@test "tree: inner pods are killed and not replaced: others take their places, and so after a takeover" {
  local tree=(--job tree --fanout 2 --spares 1 --slots 2 --ppn 1)
  pods_up 7
  agents train-{0..6}
  start 0-6 "${tree[@]}"
  at 1 train-{0..5}
  "$podbox" kill train-1
  at 2 train-{0,6,2,3,4,5} # the spare is a leaf
  seated train-{0,6,2,3,4,5}
  "$podbox" replace train-1
  agents train-1
  wait_for 30 attached train-1 2
  "$podbox" kill train-2 # the spare is below it
  at 3 train-{0,6,1,3,4,5}
  seated train-{0,6,1,3,4,5}
  lead "$muster" status --json >"$BATS_TEST_TMPDIR/status"
  # Its vertex is train-3's, or the spare's as long as the others have last words to send.
  grep -q '"member":2,"position":null,"vertex":[47],"name":"train-2.train",[^}]*"state":"lost"' "$BATS_TEST_TMPDIR/status"
  kill_launcher
  out=$out.next
  start 0-6 "${tree[@]}"
  at 4 train-{0,6,1,3,4,5}
  end_at 4 train-{0,6,1,3,4,5}
  nothing_left 7
}

@test "tree: who is replaced by order has nobody below it any more, so its pod's end costs nothing" {
  agents_up 7
  start 0-6 --fanout 2 --spares 1 --slots 2 --ppn 1
  at 1 train-{0..5}
  lead "$muster" replace train-1 --reason 'ECC errors'
  at 2 train-{0,6,2,3,4,5}
  "$podbox" kill train-1
  wait_for 30 lead grep -q '"event":"lost","member":"train-1.train"' /tmp/events
  end_at 2 train-{0,6,2,3,4,5}
  grep -q 'ended well at attempt 2, after 1 restart:' "$out"
}

# 3 and 4 are below 1, 5 and 6 below 2, 7 below 3; train-0 has the launcher alone.
@test "tree: both pods that the launcher has links to are killed at once; a majority is hidden in a takeover" {
  local tree=(--job tree --fanout 2 --spares 2 --slots 2 --ppn 1)
  pods_up 8
  agents train-{1..7}
  start 1-7 "${tree[@]}"
  at 1 train-{1..5}
  pid=$(launcher_pid train-0)
  kill -STOP "$pid" # so that it hears of both at once
  "$podbox" kill train-1
  "$podbox" kill train-2
  kill -CONT "$pid"
  at 2 train-{6,7,3,4,5} # the spares were below them
  seated train-{6,7,3,4,5}
  "$podbox" replace train-2
  agents train-2
  wait_for 30 attached train-2 2
  kill_launcher
  out=$out.next
  start 1-7 "${tree[@]}"
  at 3 train-{6,7,3,4,5}
  end_at 3 train-{6,7,3,4,5}
  nothing_left 8
}

# A launcher that begins has links to nobody then, and knows of no job.
@test "tree: both pods at the top and the launcher are killed: the next one finds those below, and goes on" {
  local tree=(--job tree --fanout 2 --spares 2 --slots 2 --ppn 1)
  pods_up 8
  agents train-{1..7}
  start 1-7 "${tree[@]}"
  at 1 train-{1..5}
  kill_launcher
  "$podbox" kill train-1
  "$podbox" kill train-2
  out=$out.next
  start 1-7 "${tree[@]}"
  at 2 train-{6,7,3,4,5}
  seated train-{6,7,3,4,5}
  grep -q 'the job was taken over from the launcher on train-0; attempt 2 begins' "$out"
  end_at 2 train-{6,7,3,4,5}
  nothing_left 8
}

told() { [ "$(lead grep -cE "$1" /tmp/events)" = "$2" ]; }

@test "tree: a pod at the top is killed while the next launcher waits for grants from below it" {
  local tree=(--job tree --fanout 2 --spares 2 --slots 2 --ppn 1) keepers
  pods_up 8
  agents train-{1..7}
  start 1-7 "${tree[@]}"
  at 1 train-{1..5}
  kill_launcher
  keepers=("$(pids_of train-3 'musterd keeper' | head -1)" "$(pids_of train-4 'musterd keeper' | head -1)")
  kill -STOP "${keepers[@]}"
  out=$out.next
  start 1-7 "${tree[@]}"
  wait_for 30 told '"to":"claim"' 2
  "$podbox" kill train-1 # 3, 4 and 7 are below it: those that are left are no majority
  wait_for 30 told '"event":"exchange","member":"train-6.train","lost":"train-1.train"' 1
  told '"from":"claim"' 1 # the first launcher's
  kill -CONT "${keepers[@]}"
  at 2 train-{6,2,3,4,5}
  end_at 2 train-{6,2,3,4,5}
  nothing_left 8
}

@test "tree: the hook hears of an inner pod that was killed, and of the one below it" {
  pods_up 7
  agents train-{0..6}
  # shellcheck disable=SC2016  # the hook expands it
  lead sh -c 'printf "#!/bin/sh\necho gone: \$MUSTER_MEMBER\n" >/tmp/hook; chmod +x /tmp/hook'
  start 0-6 --fanout 2 --spares 2 --slots 2 --ppn 1 --replace-hook /tmp/hook
  at 1 train-{0..4}
  pid=$(launcher_pid train-0)
  kill -STOP "$pid" # so that nobody has told of train-4 when train-1 is lost
  "$podbox" kill train-1
  "$podbox" kill train-4
  kill -CONT "$pid"
  at 2 train-{0,5,2,3,6}
  for i in 1 4; do wait_for 30 grep -q "replace-hook: /tmp/hook: gone: train-$i.train" "$out"; done
  end_at 2 train-{0,5,2,3,6}
}

@test "N+1 members and -n: the last is a spare; a rank's death avoids its member; the hook" {
  agents_up 3
  # shellcheck disable=SC2016  # the hook expands it
  lead bash -c 'printf "#!/bin/bash\n%s\nexit 3\n" "$0" >/tmp/hook; chmod +x /tmp/hook' \
    'echo "$MUSTER_MEMBER $MUSTER_ADDRESS attempt $MUSTER_ATTEMPT job $MUSTER_JOB: $MUSTER_REASON"'
  start 0-2 -n 2 --ppn 1 --oversubscribe --replace-hook /tmp/hook
  at 1 train-0 train-1
  kill -KILL "$(script_pid train-1)"
  at 2 train-0 train-2
  run ! grep -q 'replace-hook' "$out" # a member that is there is nobody's to replace
  address=$("$podbox" ip train-2)
  "$podbox" kill train-2
  at 3 train-0 train-1 # better than to wait
  wait_for 20 grep -q '^muster: warning: replace-hook: .*exit code 3' "$out"
  grep -qE "^muster: warning: replace-hook: /tmp/hook: train-2.train $address attempt 2 job [0-9a-f]{16}: .*" "$out"
  [ "$(grep -c 'hook: train-2' "$out")" = 1 ]
  end_at 3 train-{0,1}
}

@test "who was replaced by order stays out, while another agent has not come" {
  agents_up 3
  start 0-2 -n 2 --ppn 1 --oversubscribe
  at 1 train-0 train-1
  lead "$muster" replace train-1 --reason 'ECC errors'
  at 2 train-0 train-2
  kill -KILL "$(script_pid train-2)"
  at 3 train-0 train-2 # not train-1, whose agent is still there
  lead "$muster" status | grep -qE '^ *- +train-1\.train .* leaves '
  end_at 3 train-{0,2}
}

@test "a program that a pod cannot give now, as somebody still writes to it, is started on the spare" {
  agents_up 3
  for i in 0 1 2; do "$podbox" exec "train-$i" cp /bin/true /tmp/program; done
  "$podbox" exec train-1 -d sh -c 'exec 9>>/tmp/program; : >/tmp/writes; exec sleep 1000'
  wait_for 10 "$podbox" exec train-1 test -e /tmp/writes
  run -0 lead timeout 60 "$muster" run --on-failure restart --spares 1 --pods 'train-[0-2].train' --slots 1 \
    --pmi none /tmp/program
  [[ $output == *'attempt 1 failed: member train-1.train'*'/tmp/program: Text file busy'* ]]
  [[ $output == *'rank 1: from member train-1.train'*' to the spare train-2.train'* ]]
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
  agents train-{0..3}
  hostfile_of 4 2
  run_job train-0 "$out" --hostfile /etc/muster/group/hostfile --ppn 1 bash -c "$ranks_say"
  at 1 train-0 train-1 train-2 train-3
  "$podbox" replace train-1
  "$podbox" replace train-2
  for i in 0 2 1 3; do echo "$("$podbox" ip "train-$i") slots=2"; done >"$BATS_TEST_TMPDIR/cm/hostfile"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  agents train-{1,2}
  at 2 train-0 train-1 train-2 train-3
  seated train-0 train-1 train-2 train-3
  end_at 2 train-{0,1,2,3}
  grep -q "rank 1: from member .* to its pod, now at $("$podbox" ip train-1)" "$out"
}

#!/usr/bin/env bats
# A rank dies or a pod is replaced: the ranks start again on the pods that are there, in a star
# and in a tree, and the job ends as if nothing had been. Each test is one job that goes through
# several failures; its own summary says which.

setup() {
  load helper
  load muster
  load jobs
  load sshd
  jobs_setup
}

teardown() { jobs_teardown; }

# start_job ATTEMPTS RANKS RUN-OPTIONS...: a job of the pods that were made whose first attempts
# hang in MPI, and whose last one checks its sums. --healthy 0: no pause between attempts.
start_job() {
  attempts=$1
  ranks=$2
  job_options=(--on-failure restart --healthy 0 --grace 1 --orphan-grace 2 --link-grace 1 --events /tmp/events)
  run_job train-0 "$out" "${@:3}" bash -c "$(ranks_until "$attempts")"
  attempt=1
  wait_for 60 ranks_running "$ranks"
}

# next: the attempt that follows runs, or the last one has ended the job.
next() {
  ((++attempt < attempts)) || return 0
  wait_for 60 ranks_running $((attempt * ranks))
}

# ends_well N: the sums are right, the summary has this many restarts, and nothing is left.
ends_well() {
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c "^allreduce of $ranks: .* right" "$out")" = 5 ]
  grep -q "^muster: ended well at attempt $attempts, after $((attempts - 1)) restart" "$out"
  wait_for 5 nothing_left "$1"
}

# failed N TEXT: why attempt N did, as the summary has it.
failed() { grep -q "^muster: attempt $1 failed after .*$2" "$out"; }

@test "star, hostfile of names: a rank, an agent, a keeper, a PMIx server killed, a pod replaced" {
  agents_up 4
  printf 'train-%d.train slots=2\n' 0 1 2 3 >"$BATS_TEST_TMPDIR/cm/hostfile"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  start_job 6 8 --hostfile /etc/muster/group/hostfile
  kill -KILL "$(rank_pid train-2)"
  next
  kill -KILL "$(agent_pid train-1)"
  agents train-1
  next
  kill -KILL "$(pids_of train-3 'musterd keeper' | head -1)"
  next
  kill -KILL "$(pids_of train-3 '/muster-pmixd$' ' keeper ' | head -1)"
  next
  "$podbox" replace train-2
  agents train-2
  next
  ends_well 4
  failed 1 'rank [45] on train-2.*signal 9 (SIGKILL)'
  failed 2 'member train-1.*was lost.*ranks 2-3'
  failed 3 'member train-3.*keeper'
  failed 4 'member train-3.*PMIx server'
  failed 5 'member train-2.*was lost.*ranks 4-5'
}

@test "tree, names of pods: a rank, a leaf's agent killed, an inner pod replaced, then a leaf's, then both" {
  agents_up 6
  start_job 6 6 --pods 'train-[0-5].train' --slots 1 --fanout 2
  kill -KILL "$(rank_pid train-4)"
  next
  kill -KILL "$(agent_pid train-5)"
  agents train-5
  next
  "$podbox" replace train-1 # the parent of train-4 and train-5
  agents train-1
  next
  "$podbox" replace train-4
  agents train-4
  next
  "$podbox" replace train-1
  "$podbox" replace train-5
  agents train-5 train-1
  next
  ends_well 6
  failed 1 'rank 4 on train-4.*signal 9 (SIGKILL)'
  failed 2 'member train-5.*was lost.*rank 5 is'
  failed 3 'member train-1.*was lost.*rank 1 is'
  failed 4 'member train-4.*was lost.*rank 4 is'
}

@test "case rst-03: a headless Service: a pod is replaced, and meanwhile another one's agent dies" {
  agents_up 3
  start_job 3 3 --dns train --members 3 --slots 1
  kill -KILL "$(rank_pid train-2)"
  next
  "$podbox" replace train-1
  wait_for 20 eval '[ "$(lead grep -c "\"to\": *\"muster\"" /tmp/events)" = 2 ]'
  kill -KILL "$(agent_pid train-2)"
  agents train-1 train-2
  next
  ends_well 3
  failed 2 'member train-1.*was lost'
  [ "$("$podbox" logs train-0 | grep -c 'took hold')" = 1 ] # all the time the same link
}

# start_plain RANKS RUN-OPTIONS...: ranks without MPI; all of them have started.
start_plain() {
  local last=$(($1 - 1))
  job_options=(--on-failure restart --healthy 0 --grace 1 --pmi none --pods "train-[0-$last].train" --slots 1
    --events /tmp/events)
  run_job train-0 "$out" "${@:2}"
  wait_for 20 started "$1"
}

@test "case rst-02: an agent that goes again and again uses the budget up, once each time" {
  agents_up 2
  start_plain 2 --max-restarts 2 sleep 1000
  for attempt in 2 3; do
    kill -KILL "$(agent_pid train-1)"
    agents train-1
    wait_for 20 started $((attempt * 2))
  done
  kill -KILL "$(agent_pid train-1)"
  ends_within 20 "$job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-1.*was lost.*it was restarted 2 times within 3600 s (--max' "$out"
  grep -q '^muster: gave up at attempt 3, after 2 restarts' "$out"
}

@test "case rst-07: an agent is told to end, as when its pod is deleted: all ranks end, then go on" {
  agents_up 3
  start_plain 3 bash -c '[ "$MUSTER_ATTEMPT" = 2 ] || exec sleep 1000'
  kill -TERM "$(agent_pid train-1)"
  wait_for 20 lead grep -q '"to": *"muster"' /tmp/events
  for i in 0 1 2; do [ -z "$(pids_of "train-$i" 'sleep 1000' 'muster run')" ]; done
  wait_for 20 eval '[ -z "$(agent_pid train-1)" ]'
  agents train-1
  ends_within 20 "$job"
  [ "$code" = 0 ]
  grep -q '^muster: attempt 1 failed after .*train-1.*musterd got SIGTERM' "$out"
}

@test "while the ranks are stopped for one failure, an agent dies" {
  agents_up 2
  start_plain 2 --grace 30 bash -c '
      [ "$MUSTER_ATTEMPT" = 1 ] || exit 0
      [ "$RANK" = 1 ] || { until [ -e /tmp/fail ]; do sleep 0.05; done; exit 3; }
      trap "" TERM; touch /tmp/trapped; while :; do sleep 0.1; done'
  wait_for 20 "$podbox" exec train-1 test -e /tmp/trapped
  lead touch /tmp/fail
  wait_for 20 lead grep -q '"to": *"stop"' /tmp/events
  kill -KILL "$(agent_pid train-1)"
  agents train-1
  ends_within 20 "$job"
  [ "$code" = 0 ]
  # The exit code, or the loss that came right behind it and may have been its reason.
  grep -q '^muster: ended well at attempt 2, after 1 restart' "$out"
  wait_for 5 eval '[ -z "$(pids_of train-1 trapped)" ]'
}

@test "through sshd: agents killed, also the launcher's own child, a pod replaced" {
  ssh_pods 3
  sshd_start train-1
  sshd_start train-2
  start_job 4 3 --via ssh --key "$ring" --pods 'train-[0-2].train' --slots 1
  kill -KILL "$(pids_of train-1 'musterd --stdio' | head -1)"
  next
  kill -KILL "$(pids_of train-0 'musterd --stdio' | head -1)"
  next
  "$podbox" replace train-2
  sshd_start train-2
  next
  ends_well 3
  failed 1 'member train-1.*was lost'
  failed 2 'member train-0.*was lost'
  failed 3 'member train-2.*was lost'
}

@test "an inner pod freezes and thaws beside its replacement: its ranks end, the job goes on" {
  agents_up 7
  start_job 3 6 --pods 'train-[0-5].train' --slots 1 --fanout 2
  "$podbox" freeze train-1
  # The Service lists what it listed before: only the name tells.
  "$podbox" dns set train-1.train.default.svc.cluster.local A "$("$podbox" ip train-6)"
  next
  "$podbox" thaw train-1
  wait_for 20 eval '[ -z "$(rank_pid train-1)" ]'
  [ -n "$(rank_pid train-6)" ]
  [ -n "$(rank_pid train-5)" ] # below it in the tree
  kill -KILL "$(rank_pid train-5)"
  next
  ends_well 7
  failed 1 'member train-1.*was lost.*rank 1 is'
  failed 2 'rank 5 on train-5.*signal 9 (SIGKILL)'
}

@test "case rst-06: an inner pod is cut off and comes back: its own ranks and those below are killed first" {
  agents_up 4
  start_job 2 4 --pods 'train-[0-3].train' --slots 1 --fanout 1 --orphan-grace 60 --link-grace 1
  old=$(rank_pid train-3)
  "$podbox" cut train-1
  wait_for 20 lead grep -q '"to": *"muster"' /tmp/events
  [ "$(rank_pid train-3)" = "$old" ]
  "$podbox" heal train-1
  ends_well 4
  failed 1 'member train-1.*was lost: no sign of life for 3'
}

@test "a member without ranks goes and comes back: the job does not stop" {
  agents_up 4
  lead timeout 60 "$muster" run --pods 'train-[0-3].train' --slots 2 -n 4 --pmi none \
    --link-grace 1 --events /tmp/events bash -c 'until [ -e /tmp/stop ]; do sleep 0.05; done
      echo "rank $RANK attempt $MUSTER_ATTEMPT"' >"$out" 2>&1 3>&- &
  job=$!
  wait_for 20 started 4
  "$podbox" restart train-3
  wait_for 20 eval 'lead grep "\"lost\"" /tmp/events | grep -q train-3'
  agents train-3
  wait_for 20 eval '[ "$(lead grep "\"attached\"" /tmp/events | grep -c train-3)" = 2 ]'
  for i in 0 1; do "$podbox" exec "train-$i" touch /tmp/stop; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c '^rank [0-3] attempt 1$' "$out")" = 4 ]
  grep -q 'member train-3.*no rank is gone with it' "$out"
}

started() { [ "$(lead grep -c '"event": *"started"' /tmp/events)" = "$1" ]; }

@test "a container starts anew at its address; files go on, and ranks know what happened" {
  agents_up 2
  lead timeout 60 "$muster" run --on-failure restart --pods 'train-[0-1].train' --slots 1 \
    --pmi none --output /tmp/o --events /tmp/events bash -c '
      echo "attempt $MUSTER_ATTEMPT count $MUSTER_RESTART_COUNT $TORCHELASTIC_RESTART_COUNT"
      echo "because ${MUSTER_RESTART_REASON:-of nothing}; master $MASTER_PORT"
      [ "$MUSTER_ATTEMPT" = 2 ] || sleep 1000' >"$out" 2>&1 3>&- &
  job=$!
  wait_for 20 eval '[ "$(lead cat /tmp/o/rank.0.out /tmp/o/rank.1.out | wc -l)" = 4 ]'
  "$podbox" restart train-1
  agents train-1
  ends_within 30 "$job"
  [ "$code" = 0 ]
  for rank in 0 1; do
    lead cat "/tmp/o/rank.$rank.out" >"$BATS_TEST_TMPDIR/rank"
    [ "$(sed -n 1p "$BATS_TEST_TMPDIR/rank")" = 'attempt 1 count 0 0' ]
    grep -q '^because of nothing; master' "$BATS_TEST_TMPDIR/rank"
    [ "$(sed -n 3p "$BATS_TEST_TMPDIR/rank")" = 'attempt 2 count 1 1' ]
    sed -n 4p "$BATS_TEST_TMPDIR/rank" | grep -q '^because member train-1.*was lost'
    [ "$(grep -o 'master .*' "$BATS_TEST_TMPDIR/rank" | sort -u | wc -l)" = 2 ]
  done
}

@test "an agent that gets an attempt's PREPARE twice, from its parent and from the launcher, has one" {
  agents_up 1
  twice() { lead timeout 20 "$MUSTER_BUILDDIR/tests/e2e/claimant" /etc/muster/ssh "$("$podbox" ip train-0)" job "$@"; }
  wait_for 10 twice 1 # once its agent listens
  run -0 twice 2 twice
  [ "$output" = stopped ]
}

@test "a launcher is stopped until its agents have ended the ranks; the spare is lost later: one restart, nobody moves" {
  agents_up 4
  job_options=(--on-failure restart --healthy 0 --grace 1 --heartbeat 0.3 --link-grace 1 --orphan-grace 1 --events /tmp/events)
  start 0-3 --slots 1 --spares 1
  at 1 train-{0,1,2}
  frozen=$(launcher_pid train-0)
  kill -STOP "$frozen"
  wait_for 20 nobody_says 4
  spare=$(agent_pid train-3)
  kill -STOP "$spare"
  kill -CONT "$frozen"
  at 2 train-{0,1,2}
  kill -CONT "$spare"
  end_at 2 train-{0,1,2}
  grep -q 'ended well at attempt 2, after 1 restart' "$out"
}

# nobody_says N: none of the pods has a rank of ranks_say.
nobody_says() {
  local i
  for ((i = 0; i < $1; i++)); do [ -z "$(script_pid "train-$i")" ] || return 1; done
}

@test "no replacement within --replace-timeout: the first cause, who is missing, its code" {
  agents_up 2
  start_plain 2 --replace-timeout 1 sleep 1000
  kill -KILL "$(agent_pid train-1)"
  ends_within 30 "$job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-1.*was lost.*; attempt 2 had no member for every position' "$out"
  grep -q '(--replace-timeout): train-1.*refused' "$out"
}

@test "interrupted while it waits for a replacement: 130 at once" {
  agents_up 2
  start_plain 2 sleep 1000
  kill -KILL "$(agent_pid train-1)"
  wait_for 20 lead grep -q '"to": *"muster"' /tmp/events
  kill -INT "$(pids_of train-0 'muster run' 'timeout|bash' | head -1)"
  ends_within 10 "$job"
  [ "$code" = 130 ]
}

local_run() { run timeout 60 "$muster" run -n 2 --pmi none --grace 1 "$@"; }

@test "budgets: --max-restarts, the same failure again, and what is never repeated" {
  local_run --on-failure restart --max-restarts 1 --same-failures 0 sh -c 'exit $((RANK + MUSTER_ATTEMPT))'
  [ "$status" = 2 ] || [ "$status" = 3 ]
  [[ $output == *'it was restarted 1 times within 3600 s (--max-restarts, --restart-window)'* ]]
  local_run --on-failure restart --same-failures 2 sh -c 'exit $((RANK * 7))'
  [ "$status" = 7 ]
  [[ $output == *'the same failure of the same rank ended 2 attempts in a row'* ]]
  run -127 timeout 60 "$muster" run -n 2 --on-failure restart /no/such/program
  [[ $output != *attempt* ]]
  local_run --on-failure restart --timeout 0.5 sleep 1000
  [ "$status" = 124 ]
  [[ $output != *attempt* ]]
  local_run --max-restarts 3 true
  [ "$status" = 125 ]
  [[ $output == *'--max-restarts is about restarts: give --on-failure restart with it'* ]]
  local_run sh -c 'exit 3'
  [ "$status" = 3 ]
  [[ $output != *attempt* ]]
}

@test "case rst-01: ten restarts in a row, each with a master port of its own that is free" {
  local_run --on-failure restart --healthy 0 --same-failures 0 --max-restarts 10 python3 -c '
import os, socket
if os.environ["RANK"] == "0":
    port = int(os.environ["MASTER_PORT"])
    s = socket.socket()
    s.bind(("127.0.0.1", port))
    s.listen()
    if os.fork() == 0:
        os.setsid()  # holds the port over the end of its parent
        while True: s.accept()
    print("port", port, flush=True)
    os._exit(0 if os.environ["MUSTER_ATTEMPT"] == "11" else 1)'
  [ "$status" = 0 ]
  [ "$(grep '^port ' <<<"$output" | sort -u | wc -l)" = 11 ]
}

@test "--timeout counts over attempts; the output of all of them is there" {
  local begun=$EPOCHREALTIME
  local_run true
  # Three attempts have to end within it, on a busy machine, too.
  local limit=$(((${EPOCHREALTIME/[.,]/} - ${begun/[.,]/}) * 10 / 1000000 + 1))
  local_run --on-failure restart --healthy 0 --same-failures 0 --timeout $limit --max-restarts 1000 \
    sh -c 'echo "attempt $MUSTER_ATTEMPT"; exit $RANK'
  [ "$status" = 124 ]
  grep -q '^attempt 3$' <<<"$output"
}

@test "ranks that spawn start again, and spawn again" {
  run timeout 60 "$muster" run -n 2 --on-failure restart --grace 1 bash -c "
    [ \$MUSTER_ATTEMPT = 1 ] && exec $mpi/spawn 2 die; exec $mpi/spawn 2"
  [ "$status" = 0 ]
  grep -q '^muster: attempt 1 failed after .*rank 0 of spawned world 1.*exit code 5' <<<"$output"
  grep -q '^together 4$' <<<"$output" # attempt 1 may end before it is said
  [[ $output != *lost* ]]
}

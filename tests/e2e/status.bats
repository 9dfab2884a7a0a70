#!/usr/bin/env bats
# A running job tells how it is, from any of its pods and over HTTP; an operator has a member
# replaced or drained.

setup() {
  load helper
  load muster
  load jobs
  jobs_setup
  job_options=(--pods 'train-[0-1].train' --slots 2 --grace 1)
}

teardown() { jobs_teardown; }

# start_mpi LAST RUN-OPTIONS...: four ranks on two pods hang in MPI until attempt LAST, which ends well.
start_mpi() {
  agents_up 2
  run_job train-0 "$out" "${@:2}" bash -c "$(ranks_until "$1")"
  wait_for 60 ranks_running 4
}

# ask POD ARG...: muster there, bounded.
ask() {
  local pod=$1
  shift
  "$podbox" exec "$pod" timeout 20 "$muster" "$@"
}

# json FILTER: a Python expression of the status `s`, as the worker is told it.
json() { ask train-1 status --json | python3 -c "import json, sys; s = json.load(sys.stdin); print($1)"; }
is_state() { [ "$(json 's["state"]')" = "$1" ]; }

page() {
  "$podbox" exec train-0 timeout 10 bash -c "
    exec 3<>/dev/tcp/127.0.0.1/7900; printf 'GET $1 HTTP/1.0\r\n\r\n' >&3; cat <&3"
}

@test "no job, no agent, a wrong key, and arguments that make no sense" {
  agents_up 1
  run -1 ask train-0 status
  [[ $output == 'muster status: no job holds'* ]]
  run -125 ask train-0 status --agent 7999
  [[ $output == *refused* ]]
  ask train-0 keygen /tmp/other
  run -125 ask train-0 status --key /tmp/other
  [[ $output == *key* ]]
  run -125 ask train-0 status '[::'
  run -125 ask train-0 drain
  run -1 ask train-0 drain train-0
  run -125 ask train-0 replace train-0 --reason x --hostfile f
  run -125 ask train-0 replace train-0 --agent 1 --address 10.0.0.9 --hostfile f
}

@test "a job that aborts: status from leader and worker, pages, orders refused" {
  start_mpi 9 --status 7900
  run -0 ask train-0 status
  [[ $output == *'state    run for '* && $output == *'attempt  1, 0 restarts, 4 ranks (4 started, 0 ended)'* ]]
  [[ $output =~ 1\ +train-1.train\ +[0-9.]+\ +attached\ +[0-9a-f]{8}\ +1\ +2/2 ]]
  [ "$(json '[m["running"] for m in s["members"]], s["waiting"]')" = '[2, 2] None' ]
  page /healthz | grep -qx ok
  page /status | tail -1 | python3 -c 'import json, sys; assert json.load(sys.stdin)["state"] == "run"'
  page /metrics >"$BATS_TEST_TMPDIR/metrics"
  grep -qx 'muster_job_state{state="run"} 1' "$BATS_TEST_TMPDIR/metrics"
  grep -qx 'muster_members{state="attached"} 2' "$BATS_TEST_TMPDIR/metrics"
  grep -qx 'muster_restarts_total{cause="loss"} 0' "$BATS_TEST_TMPDIR/metrics"
  run -1 ask train-1 replace train-1 --reason test
  [[ $output == *'--on-failure abort'* ]]
  run -1 ask train-1 replace train-7 --reason test
  [[ $output == *"no member 'train-7'"* ]]
  run -125 ask train-1 drain ''
  [[ $output == *"the member's name is empty"* ]]
  run -1 ask train-1 status --job 12
  [[ $output == *'no job 12 here'* ]]
  kill -TERM "$(launcher_pid train-0)"
  ends_within 30 "$job"
  wait_for 10 eval 'ask train-1 status 2>&1 | grep -q "no job"'
}

# next N: attempt N runs.
next() { wait_for 30 ranks_running $((4 * $1)); }
member_is() { [ "$(json 's["members"][1]["state"]')" = "$1" ]; }
metric() { page /metrics | tr -d '\r' | grep -qxF "$1"; }

@test "an operator replaces and drains: the job waits for another agent, says so, and goes on" {
  start_mpi 3 --on-failure restart --healthy 0 --orphan-grace 2 --link-grace 1 --status 7900
  run -0 ask train-1 replace train-1 --reason $'bad\tGPU 3'
  [[ $output == *'attempt 1 ends, and attempt 2 begins on a spare, or with another agent'* ]]
  wait_for 30 is_state muster
  [[ $(json 's["waiting"]["for"]') == *'attempt 2 waits for train-1'*'replaced by an operator: bad GPU 3'* ]]
  run -0 ask train-0 status
  [[ $output == *'waiting  attempt 2 waits for train-1'* ]]
  "$podbox" replace train-1
  agents train-1
  next 2
  metric 'muster_restarts_total{cause="loss"} 1'
  metric 'muster_recovery_seconds_count 1'
  metric 'muster_agents_total 3'
  metric 'muster_detection_seconds_count{cause="loss"} 1'
  metric 'muster_detection_seconds_count{cause="exit"} 0'

  run -0 ask train-0 drain train-1.train
  [[ $output == *'is drained: attempt 2 goes on'* ]]
  [ "$(json 's["state"], s["members"][1]["state"], s["members"][1]["agents"]')" = 'run leaves 2' ]
  kill -KILL "$(rank_pid train-0)"
  wait_for 30 is_state muster
  "$podbox" cut train-1 # the same agent, on another link, is not taken
  wait_for 20 eval 'ask train-0 status | grep -q "train-1.train .* lost "'
  "$podbox" heal train-1
  wait_for 30 member_is leaves
  kill -KILL "$(agent_pid train-1)"
  agents train-1
  ends_within 60 "$job"
  [ "$code" = 0 ]
  grep -q 'attempt 1 failed after .*member train-1.*was replaced by an operator: bad GPU 3' "$out"
  grep -q 'attempt 2 failed after .*signal 9' "$out"
}

@test "a leaf of a tree asks, again and again; a launcher that stopped, or is gone, is named" {
  agents_up 3
  job_options=(--pods 'train-[0-2].train' --slots 1 --fanout 1 --orphan-grace 30)
  run_job train-0 "$out" "$mpi/hang"
  wait_for 60 ranks_running 3
  local launcher watched=$BATS_TEST_TMPDIR/watched
  launcher=$(launcher_pid train-0)
  ask train-2 status --watch --json >"$watched" 2>&1 3>&- &
  local watcher=$!
  wait_for 20 eval '[ "$(grep -c "\"state\":\"run\"" "$watched")" = 2 ]'
  kill -STOP "$launcher"
  wait_for 20 eval 'ask train-2 status 2>&1 | grep -qE "gave no answer|connection to its launcher is lost"'
  kill -KILL "$launcher"
  wait_for 20 eval 'ask train-0 status 2>&1 | grep -q "has lost its launcher"'
  ends_within 20 "$watcher"
  [[ $code == 1 || $code == 125 ]]
  wait "$job" || true
}

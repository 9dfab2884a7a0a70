#!/usr/bin/env bats
# A launcher takes a job over: what the one before knew is carried on, and a pod that is missing
# then is waited for as at any restart.

setup() {
  load helper
  load muster
  load jobs
  jobs_setup
  job_options=(--job train/7 --on-failure restart --healthy 0 --same-failures 0 --grace 1 --orphan-grace 1
    --link-grace 0 --pmi none --slots 1 --events /tmp/events)
}

teardown() { jobs_teardown; }

# launch OUT RUN-OPTION...: a launcher in train-0, which has no agent.
launch() { run_job train-0 "$@" bash -c "$ranks_say"; }

@test "a pod is missing: a spare sits there, who was drained stays out, all others stay" {
  pods_but_leader 6
  launch "$out" --pods 'train-[1-5].train' --spares 2
  at 1 train-1 train-2 train-3
  "$podbox" exec train-1 "$muster" drain train-2 --reason 'ECC errors'
  kill -KILL "$(script_pid train-3)"
  at 2 train-1 train-4 train-5
  kill_launcher
  "$podbox" kill train-5
  launch "$out.second" --pods 'train-[1-5].train' --spares 2
  at 3 train-1 train-4 train-3 # not train-2, whose agent is still there
  grep -q 'taken over from the launcher on train-0; attempt 3 begins' "$out"
  "$podbox" exec train-1 "$muster" status | grep -qE '^ *- +train-2\.train .* leaves '
  end_at 3 train-1 train-4 train-3
  grep -q 'ended well at attempt 3, after 2 restarts' "$out"
}

@test "a pod is missing and no spare is there: its replacement is waited for, in a tree; the budget goes on" {
  pods_but_leader 8
  launch "$out" --pods 'train-[1-7].train' --fanout 2 --max-restarts 2
  at 1 train-{1..7}
  "$podbox" kill train-6
  "$podbox" unready train-6 # its name has no address
  kill_launcher
  launch "$out.second" --pods 'train-[1-7].train' --fanout 2 --max-restarts 2
  wait_for 30 grep -q 'taken over from .*; attempt 2 begins when train-6.train is back' "$out"
  "$podbox" exec train-1 "$muster" status | grep -q 'waits for train-6.train: '
  "$podbox" replace train-6
  "$podbox" ready train-6
  agents train-6
  at 2 train-{1..7}
  kill -KILL "$(script_pid train-3)"
  at 3 train-{1..7}
  kill_launcher
  launch "$out.third" --pods 'train-[1-7].train' --fanout 2 --max-restarts 2
  ends_within 30 "$job"
  [ "$code" = 125 ]
  grep -q 'it was restarted 2 times within .*--max-restarts' "$out"
}

@test "case rst-05: the missing pod never comes back: the launcher gives up at the limit and names it" {
  local n options first=$out
  pods_but_leader 4
  measure_launch --pods 'train-[1-3].train' --slots 1 --pmi none
  # The other members have to be back by then, on a slow machine too.
  options=(--pods 'train-[1-3].train' --replace-timeout $((launch_ms * 5 / 1000 + 1)))
  launch "$first" "${options[@]}"
  at 1 train-{1..3}
  "$podbox" kill train-3
  kill_launcher
  for n in second third; do # what has ended is done
    launch "$first.$n" "${options[@]}"
    ends_within 90 "$job"
    [ "$code" = 125 ]
    grep -q "attempt 2 had no member for every position within ${options[3]} s (--replace-timeout): train-3.train" "$out"
    [ "$n" = second ] || grep -q 'job train/7 is done: it ended with exit code 125' "$out"
  done
}

@test "a lost pod's address is another group's when the launcher begins: a job that goes on does without it" {
  local key=$BATS_TEST_TMPDIR/strangers group=(--pods 'train-[1-4].train' --spares 1)
  "$muster" keygen "$key" >/dev/null
  pods_up 5 --share "$key"
  agents train-{1..4}
  launch "$out" "${group[@]}"
  at 1 train-{1..3}
  kill_launcher
  kill -KILL "$(agent_pid train-2)"
  "$podbox" exec train-2 -d "$musterd" --key "$key"
  launch "$out.second" "${group[@]}"
  at 2 train-{1,4,3}
  end_at 2 train-{1,4,3}
  launch "$out.new" "${group[@]}" --job another # that begins
  ends_within 30 "$job"
  [ "$code" = 125 ]
  grep -q "^muster: member train-2.train .*not in the key ring of this group" "$out"
}

@test "--timeout counts from the first launcher's ranks" {
  pods_but_leader 3
  launch "$out" --pods 'train-[1-2].train' --timeout 8
  at 1 train-{1,2}
  begun=$(ms)
  kill_launcher
  wait_for 10 eval '(($(ms) - begun > 4000))'
  begun=$(ms)
  launch "$out.second" --pods 'train-[1-2].train' --timeout 8
  ends_within 30 "$job"
  [ "$code" = 124 ]
  (($(ms) - begun < 7500))
}

#!/usr/bin/env bats
# One job through all that can befall its leader, in a star and in a tree of depth 3: the launcher
# killed, its container started anew, its pod replaced; and while it claims.

setup() {
  load helper
  load muster
  load jobs
  jobs_setup
  job_options=(--pods 'train-[0-6].train' --slots 1 --on-failure restart --healthy 0 --same-failures 0
    --grace 1 --orphan-grace 3 --link-grace 1 --pmi none --events /tmp/events)
}

teardown() { jobs_teardown; }

# through SHAPE-OPTION...
through() {
  local first=$out
  pods_but_leader 7
  lead_job "$out" "$@" bash -c "$ranks_alone"
  at 1 train-{0..6}
  kill -KILL "$(launcher_pid train-0)"
  at 2 train-{0..6}
  "$podbox" restart train-0 # same address, another agent
  wait "$job" || true
  lead_job "$first.2" "$@" bash -c "$ranks_alone"
  at 3 train-{0..6}
  "$podbox" replace train-0
  wait "$job" || true
  lead_job "$first.3" "$@" bash -c "$ranks_alone"
  at 4 train-{0..6}
  grep -q 'taken over from the launcher on train-0; attempt 4 begins' "$out"
  end_at 4 train-{0..6}
  grep -q 'ended well at attempt 4, after 3 restarts' "$out"
  run ! grep TWIN "$first" "$first.2" "$first.3"
  wait_for 5 nothing_left 7
  lead_job "$first.4" "$@" bash -c "$ranks_alone" # and once more: it is done
  ends_within 20 "$job"
  [ "$code" = 0 ]
  grep -q 'job train-0 is done: it ended with exit code 0 at attempt 4' "$out"
}

@test "star: the launcher is killed, its container starts anew, its pod is replaced" { through; }

@test "tree of depth 3: the same" { through --fanout 2; }

@test "a second failure while it claims: a pod that does not answer is lost then, and waited for" {
  local stopped
  pods_but_leader 7
  lead_job "$out" --fanout 2 bash -c "$ranks_alone"
  at 1 train-{0..6}
  stopped=$(agent_pid train-6)
  kill -STOP "$stopped"
  kill -KILL "$(launcher_pid train-0)"
  wait_for 30 grep -q 'taken over from .*; attempt 2 begins when train-6.train .* is back' "$out"
  kill -CONT "$stopped"
  at 2 train-{0..6}
  end_at 2 train-{0..6}
  run ! grep TWIN "$out"
  wait_for 5 nothing_left 7
}

#!/usr/bin/env bats
# Launchers without --job: nobody knows that the second one is the first begun anew. Ranks of a
# launcher that is gone never run beside those of another one; those of two that live do.

setup() {
  load helper
  load muster
  load jobs
  jobs_setup
  job_options=(--pods 'train-[0-6].train' --slots 1 --fanout 2 --pmi none --grace 1 --link-grace 1)
}

teardown() { jobs_teardown; }

@test "a launcher is killed and begun anew at once, in a tree: the old ranks end first" {
  local first=$out
  agents_up 7
  run_job train-0 "$first" --orphan-grace 30 bash -c "$ranks_alone"
  at 1 train-{0..6}
  kill -KILL "$(launcher_pid train-0)"
  run_job train-0 "$first.second" bash -c "$ranks_alone"
  at 1 train-{0..6}
  end_at 1 train-{0..6}
  run ! grep TWIN "$first" "$first.second"
  grep -q '^muster: warning: member .*ranks of a launcher on train-0 that did not answer were killed first' "$out"
  wait_for 5 nothing_left 7
}

@test "a launcher is frozen, another one takes its place: it stands down when it thaws; two that live share" {
  local first=$out frozen first_job second_job
  agents_up 7
  run_job train-0 "$first" --on-failure restart --orphan-grace 30 bash -c "$ranks_alone"
  first_job=$job
  at 1 train-{0..6}
  frozen=$(launcher_pid train-0)
  kill -STOP "$frozen"
  run_job train-1 "$first.second" bash -c "$ranks_alone"
  second_job=$job
  at 1 train-{0..6}
  kill -CONT "$frozen"
  ends_within 20 "$first_job"
  [ "$code" = 125 ]
  grep -q '^muster: member .* was given to another launcher, on train-1, while this one did not answer' "$first"
  [ "$(grep -c '^attempt' "$first")" = 7 ] # no second attempt
  # shellcheck disable=SC2016  # the ranks' shell expands it
  run_job train-2 "$first.third" bash -c 'echo "attempt 1 rank $RANK on $(hostname)"'
  ends_within 20 "$job" # beside the second one's
  [ "$code" = 0 ]
  at 1 train-{0..6}
  run ! gone "$second_job"
  job=$second_job
  end_at 1 train-{0..6}
  run ! grep TWIN "$first" "$first.second"
  wait_for 5 nothing_left 7
}

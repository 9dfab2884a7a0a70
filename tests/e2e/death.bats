#!/usr/bin/env bats
# kill -9 of everything that can be killed: nothing of the job is left on any pod, and the
# launcher, if alive, names the first cause.

setup() {
  load helper
  load muster
  bed_setup
  agents_up 4
  measure_launch --pods 'train-[0-3].train' --slots 2
  start_hang --pods 'train-[0-3].train' --slots 2 --orphan-grace 1 --grace 1
  bound=$(bound_s 2)
}

teardown() { bed_teardown; }

rank_pid() { pids_of "$1" 'tests/mpi/hang$' 'muster run' | head -1; }

@test "case lau-23: --timeout ends the job although one agent is stopped; that one ends itself later" {
  kill -KILL "$(pids_of train-0 'muster run' | head -1)"
  wait_for 20 nothing_left 4
  "$podbox" exec train-0 timeout 60 "$muster" run --pods 'train-[0-3].train' --slots 1 --pmi none \
    --timeout 2 --grace 1 --orphan-grace 1 sleep 1000 >"$out" 2>&1 3>&- &
  launcher_job=$!
  wait_for 20 eval '[ "$(for i in 0 1 2 3; do pids_of train-$i "sleep 1000"; done | wc -l)" -ge 4 ]'
  stopped=$(pids_of train-2 'musterd$' | head -1)
  kill -STOP "$stopped"
  ends_within $((12 + bound)) "$launcher_job"
  kill -CONT "$stopped"
  # Whichever is noticed first, the silent agent or the time.
  [ "$code" = 124 ] || [ "$code" = 125 ]
  wait_for 20 eval '[ -z "$(for i in 0 1 2 3; do pids_of train-$i "sleep 1000"; done)" ]'
}

@test "of a rank: exit 137, the rank is named" {
  kill -KILL "$(rank_pid train-2)"
  ends_within "$bound" "$launcher_job"
  [ "$code" = 137 ]
  [ "$(grep -c '^muster: rank [45] on train-2.*signal 9 (SIGKILL)' "$out")" = 1 ]
  wait_for "$(bound_s 1)" nothing_left 4
}

@test "of an agent: exit 125, the member and its ranks are named" {
  wait_for 20 has_read train-1
  kill -KILL "$(pids_of train-1 'musterd$' | head -1)"
  ends_within "$bound" "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-1.*ranks 2-3' "$out"
  wait_for "$(bound_s 1)" nothing_left 4
}

@test "of a keeper: exit 125, the member is named" {
  kill -KILL "$(pids_of train-3 'musterd keeper' | head -1)"
  ends_within "$bound" "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-3.*keeper' "$out"
  wait_for "$(bound_s 1)" nothing_left 4
}

@test "of a PMIx server: the job ends and says so" {
  kill -KILL "$(pids_of train-3 '/muster-pmixd$' ' keeper ' | head -1)"
  ends_within "$bound" "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-3.*PMIx server' "$out"
  wait_for "$(bound_s 1)" nothing_left 4
}

@test "of a pod's pid 1: exit 125, the member is named" {
  wait_for 20 has_read train-2
  "$podbox" kill train-2
  ends_within "$bound" "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-2.*ranks 4-5' "$out"
  wait_for "$(bound_s 1)" nothing_left 4
}

@test "of the launcher: agents stop the ranks after the orphan grace" {
  kill -KILL "$(pids_of train-0 'muster run' | head -1)"
  wait_for "$(bound_s 3)" nothing_left 4
  # The agents still serve.
  lead "$muster" run --pods 'train-[0-3].train' --slots 1 true
}

@test "of the leader pod's pid 1, with the launcher in it" {
  "$podbox" kill train-0
  wait_for "$(bound_s 3)" nothing_left 4
}

@test "a silent loss is noticed by the heartbeat" {
  "$podbox" cut train-2
  ends_within $((8 + bound)) "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-2' "$out"
  "$podbox" heal train-2
  wait_for $((8 + bound)) nothing_left 4
}

@test "of an agent by SIGHUP: in order, as by SIGTERM; SIGUSR1 does nothing to it" {
  agent=$(pids_of train-2 "$musterd\$")
  kill -USR1 "$agent"
  kill -HUP "$agent"
  ends_within $((bound + 2)) "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: .*train-2.*musterd got SIGHUP' "$out"
  wait_for 10 gone "$agent"
  wait_for 5 nothing_left 4
  run ! "$podbox" exec train-2 sh -c 'ls -d /tmp/muster-*'
}

#!/usr/bin/env bats
# kill -9 of a random victim at a random moment of a launch, CHAOS_ROUNDS times (6) from
# CHAOS_SEED (the time): nothing is left, the right code and one text, the agents still serve.

setup() {
  load helper
  load muster
  bed_setup
  agents_up 4
  source=(--pods 'train-[0-3].train' --slots 2 --grace 1 --orphan-grace 1 --wait 3)
  measure_launch "${source[@]}"
}

teardown() { bed_teardown; }

# victims POD KIND: pids, in the pod's container.
victims() {
  case $2 in
    agent) pids_of "$1" 'agent/musterd$' ;;
    keeper) pids_of "$1" 'musterd keeper' ;;
    pmixd) pids_of "$1" '/muster-pmixd$' ' keeper ' ;;
    rank) pids_of "$1" 'tests/mpi/hang$' 'muster run' ;; # not the launcher, which names it
    launcher) pids_of train-0 'launcher/muster run' ;;
  esac
}

# Kills the first victim that shows up, unless the job is over before.
strike() {
  local pid
  pid=$(victims "$1" "$2" | head -1)
  [ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null
}

right_code() {
  case $1 in
    launcher) return 0 ;; # it is podbox's code
    rank) [ "$code" = 137 ] ;;
    *) [ "$code" = 125 ] ;;
  esac
}

one_text_names() {
  [ "$1" = launcher ] ||
    { [ "$(grep -c '^muster: [a-z]' "$out")" = 1 ] && grep -q "^muster: .*$2" "$out"; }
}

agents_serve() {
  local i
  for i in 0 1 2 3; do
    [ -n "$(victims "train-$i" agent)" ] || "$podbox" exec "train-$i" -d "$musterd"
  done
  [ "$(lead timeout 60 "$muster" run "${source[@]}" --wait 20 "$mpi/hello" | grep -c 'of 8 on')" = 8 ]
}

fds_of_agents() {
  local i
  for i in 0 1 2 3; do ls "/proc/$(victims "train-$i" agent | head -1)/fd"; done | wc -l
}

@test "kill -9 of anybody at any moment" {
  kinds=(rank agent keeper pmixd launcher)
  RANDOM=${CHAOS_SEED:-$EPOCHSECONDS}
  echo "seed ${CHAOS_SEED:-$EPOCHSECONDS}, a launch takes $launch_ms ms"
  agents_serve
  wait_for 20 all_stand_by 4
  fds=$(fds_of_agents)
  out=$BATS_TEST_TMPDIR/out
  for ((round = 0; round < ${CHAOS_ROUNDS:-6}; round++)); do
    kind=${kinds[RANDOM % 5]} pod=train-$((RANDOM % 4)) delay=$((RANDOM % 900))
    echo "round $round: $kind on $pod after $delay ms"
    lead "$muster" run "${source[@]}" "$mpi/hang" >"$out" 2>&1 &
    job=$!
    sleep "0.$(printf '%03d' "$delay")" # the moment is the stimulus
    wait_for 20 strike "$pod" "$kind"
    ends_within $(($(bound_s 2) + 3)) "$job" # an agent may be gone before it is dialed
    echo "code $code: $(tail -1 "$out")"
    right_code "$kind"
    one_text_names "$kind" "$pod"
    wait_for "$(bound_s 4)" nothing_left 4
    agents_serve
    wait_for 5 eval '[ "$(fds_of_agents)" -le "$fds" ]'
  done
}

#!/usr/bin/env bats
# Runs in a row against the same agents, each with something killed at a random moment:
# every run ends right, nothing is left of it, and the agents stay as they were.
#
# ENDURANCE_ROUNDS (100), ENDURANCE_SEED (the time; printed).

setup() {
  load helper
  load muster
  bed_setup
  agents_up 4
  source=(--quiet --pods 'train-[0-3].train' --slots 2 --grace 1 --orphan-grace 0.3 --wait 10)
  measure_launch "${source[@]}"
  out=$BATS_TEST_TMPDIR/out
  seed=${ENDURANCE_SEED:-$EPOCHSECONDS}
  RANDOM=$seed
  echo "seed $seed, a launch takes $launch_ms ms"
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || { echo "${what:-}: code ${code:-}" && cat "$out"; } || :
  bed_teardown
}

# draw N: sets `drawn`, 0 to N - 1.
draw() { drawn=$(((RANDOM << 15 | RANDOM) % $1)); }

# victims POD KIND: host pids.
victims() {
  case $2 in
    agent) pids_of "$1" 'agent/musterd$' ;;
    keeper) pids_of "$1" 'musterd keeper' ;;
    pmixd) pids_of "$1" '/muster-pmixd$' ' keeper ' ;;
    rank) pids_of "$1" 'rank-' 'muster run' ;; # not the launcher, which names it
    launcher) pids_of train-0 'launcher/muster run' ;;
  esac
}

# strike POD KIND: kills the first victim that is there.
strike() {
  local pid
  pid=$(victims "$1" "$2" | head -1)
  [ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null
}

# strike_or_end: as soon as there is a victim, unless the job is over before. Sets `struck`.
strike_or_end() {
  struck=''
  wait_for 20 eval 'gone "$job" || { strike "$pod" "$kind" && struck=yes; }'
}

# start_job ARGS...: in the background, from train-0; sets `job`.
start_job() {
  lead "$muster" run "${source[@]}" "$@" >"$out" 2>&1 3>&- &
  job=$!
}

# right CODE TEXT: the job ends, bounded, with this code and TEXT as its only cause. (That killed ranks of
# Open MPI have left files in /dev/shm is a finding, no cause.)
right() {
  ends_within "$(bound_s 5)" "$job"
  [ "$code" = "$1" ]
  [ "$(grep '^muster: [a-z]' "$out" | grep -vc ": after the ranks' end: /dev/shm has ")" = "$(($1 != 0))" ]
  [ "$1" = 0 ] || grep -q "^muster: $2" "$out"
}

# ---- rounds: each draws its victim and moment --------------------------------------

# A rank kills itself at a moment that is mostly within its MPI_Init.
round_init() {
  draw 8 && local rank=$drawn
  draw $((init_us * 5 / 4)) && local us=$drawn
  what="rank $rank after $us us"
  start_job "$mpi/mortal" "$rank" "$us"
  right 137 "rank $rank on train-$((rank / 2))\\..*signal 9 (SIGKILL)"
  grep -q "^rank $rank: MPI_Init took" "$out" || in_init=$((in_init + 1))
}

# random_strike ARGS...: $kind on $pod is killed at a random moment of the job.
random_strike() {
  draw 4 && pod=train-$drawn
  draw 300 && local ms=$drawn
  what="$kind on $pod after $ms ms"
  start_job "$@"
  sleep "0.$(printf '%03d' "$ms")" # the moment is the stimulus
  strike_or_end
}

plain() { random_strike --pmi none bash -c "exec -a rank-plain sleep $1"; }

round_plain() {
  kind=rank
  plain 1000
  right 137 "rank [0-7] on $pod\\..*signal 9 (SIGKILL)"
}

# Ends by itself at about the time of the kill: a zombie can be killed, too.
round_brief() {
  kind=rank
  plain "$((launch_ms * 2))e-3"
  wait_for 20 gone "$job"
  if [ -n "$struck" ] && grep -q '^muster: ' "$out"; then
    right 137 "rank [0-7] on $pod\\..*signal 9 (SIGKILL)"
    brief=$((brief + 1))
  else
    right 0
  fi
}

round_keeper() {
  kind=keeper
  random_strike "$mpi/hang"
  right 125 "member $pod.*keeper"
}

round_pmixd() {
  kind=pmixd
  random_strike "$mpi/hang"
  right 125 "member $pod.*PMIx server"
}

# The code is podbox's: 128 + 9.
round_launcher() {
  kind=launcher
  random_strike "$mpi/hang"
  ends_within "$(bound_s 5)" "$job"
  [ "$code" = 137 ]
}

# report TEXT: also when the test passes.
report() { echo "# $*" >&3; }

# ---- the agents ----------------------------------------------------------------------

# state_of PID: "fds threads children".
state_of() {
  echo "$(find "/proc/$1/fd" -mindepth 1 | wc -l) $(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" \
    "$(cat "/proc/$1"/task/*/children | wc -w)"
}

rss_of() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"; }

as_before() { [ "$(state_of "${agent[$1]}")" = "${state[$1]}" ]; }

@test "100 runs against the same agents, ranks killed anywhere, also in MPI_Init: nothing grows" {
  rounds=${ENDURANCE_ROUNDS:-100} warm_up=10
  kinds=(init plain init keeper init brief init pmixd init launcher)
  in_init=0 brief=0 begin=$(ms)
  for i in 0 1 2 3; do agent[i]=$(victims "train-$i" agent); done
  start_job "$mpi/mortal"
  wait_for 60 eval '[ "$(grep -c "MPI_Init took" "$out")" = 8 ]'
  kill -TERM "$(victims train-0 launcher | head -1)"
  right 143 'interrupted by SIGTERM'
  init_us=$(awk '/MPI_Init took/ && $5 > max { max = $5 } END { print max }' "$out")
  [ "$init_us" -gt 0 ]
  for ((round = 0; round < rounds; round++)); do
    [ $((round % 5)) != 2 ] || wait_for 20 all_stand_by 4 # a warm start, else mostly cold ones
    if [ "$round" = "$warm_up" ]; then
      wait_for 20 all_stand_by 4
      for i in 0 1 2 3; do state[i]=$(state_of "${agent[i]}") rss[i]=$(rss_of "${agent[i]}"); done
    fi
    "round_${kinds[round % 10]}"
    echo "round $round: $what: code $code: $(grep -m1 '^muster: [a-z]' "$out")"
    wait_for "$(bound_s 5)" nothing_left 4
  done
  report "seed $seed: $rounds rounds in $(($(ms) - begin)) ms, MPI_Init takes up to $init_us us"
  report "killed inside MPI_Init: $in_init; killed at about its end: $brief"
  [ "$in_init" -ge $((rounds / 10)) ]
  wait_for 20 all_stand_by 4
  report "agent    fds threads children  RSS kB, after $warm_up rounds -> at the end"
  for i in 0 1 2 3; do
    wait_for 10 as_before "$i" || true
    grown=$(($(rss_of "${agent[i]}") - rss[i]))
    report "train-$i  ${state[i]}  ${rss[i]} -> $(state_of "${agent[i]}")  $((rss[i] + grown))"
    as_before "$i"
    [ "$grown" -lt $((256 + 10 * (rounds - warm_up))) ] # 30 kB a round would be well above
  done
}

serves_all() {
  [ "$(lead timeout 60 "$muster" run "${source[@]}" "$mpi/hello" | grep -c 'of 8 on')" = 8 ]
}

@test "kill -9 of an agent at any moment of a launch; a new one serves at once" {
  kind=agent
  for ((round = 0; round < 3; round++)); do
    random_strike --wait 3 "$mpi/hang" # it may be gone before it is dialed
    right 125 ".*$pod"
    echo "round $round: $what: $(grep -m1 '^muster: [a-z]' "$out")"
    wait_for "$(bound_s 5)" nothing_left 4
    "$podbox" exec "$pod" -d "$musterd"
    serves_all
  done
}

#!/usr/bin/env bash
# ./dev bench detect [--pods N] [--rounds R]: how long from a fault until the launcher's event log has
# it, in a star and in a tree of fan-out 2. What ends is known when a rank's or a connection's end is read; what
# is silent when heartbeats are missed (`link-broken`; the member may come back within --link-grace, which
# goes by before it is `lost`). Figures are medians with min and max; a goal that is missed makes the exit
# code 1.
set -euo pipefail

bench=detect pods=8 rounds=5 limit=60
while [ $# -gt 1 ]; do
  case $1 in
    --pods) pods=$2 ;;
    --rounds) rounds=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# = 0 ] && ((pods >= 4)) || { echo "bench detect: --pods N (4 or more), --rounds R" >&2; exit 2; }
# shellcheck source=tests/bench/pods.bash
source "$(dirname "$0")/pods.bash"

share=$work/share
mkdir "$share"
events=$share/events
leaf=train-$((pods - 1)) # in the tree: three links away from 8 pods on
launchers_pod=train-$pods

# happened N PATTERN: an event behind the N-th line.
happened() { tail -n +"$(($1 + 1))" "$events" | grep -qE -- "$2"; }
runs() { [ "$(grep -c '"event":"started"' "$events")" -ge $((pods * $1)) ]; }

# start_job OPTION...: sleeping ranks.
start_job() {
  rm -f "$events"
  "$podbox" exec "$launchers_pod" "$muster" run -q --pods "train-[0-$((pods - 1))].train" --slots 1 --pmi none \
    --on-failure restart --healthy 0 --same-failures 0 --max-restarts 1000 --grace 1 --link-grace 2 \
    --orphan-grace 3 --events "$events" "$@" sleep 100000 2>"$work/muster.err" &
  job=$!
  attempt=1
  until_true runs 1
}

# strike WHAT EVENT GOAL CMD...: from before the command to the event's own time.
strike() {
  local what=$1 event=$2 goal=$3 before start at
  before=$(wc -l <"$events") start=$EPOCHREALTIME
  "${@:4}"
  until_true happened "$before" "$event"
  at=$(tail -n +"$((before + 1))" "$events" | grep -m1 -E -- "$event" | sed 's/.*"time":"\([^"]*\)".*/\1/')
  awk -v s="$start" -v e="$(date -u -d "$at" +%s.%3N)" -v l="$shape|$what" -v g="$goal" \
    'BEGIN { printf "%s|%.3f|%s\n", l, e - s, g }' >>"$work/figures"
}

again() { until_true runs $((++attempt)); }

one_round() {
  strike 'rank killed' '"event":"exited".*"status":9' 0.2 kill -KILL "$(processes_of "$leaf" ' sleep 100000$' | head -1)"
  again
  strike 'agent killed' "\"event\":\"lost\",\"member\":\"$leaf" '' kill -KILL "$(processes_of "$leaf" '/musterd$' | head -1)"
  agent_in "$leaf"
  again
  strike 'silent: noticed' "$broken" 3.5 "$podbox" cut "$cut"
  strike 'silent: lost, after that' "\"event\":\"lost\",\"member\":\"$cut\\." '' true
  "$podbox" heal "$cut"
  again
  [ $shape = tree ] || return 0
  # Of links further down the launcher's log has the loss alone: 3.5 s, and --link-grace 2.
  strike 'silent leaf: lost' "\"event\":\"lost\",\"member\":\"$leaf\\." 5.5 "$podbox" cut "$leaf"
  "$podbox" heal "$leaf"
  again
}

report() {
  local shape what goal median min max missed=0
  printf '%d pods, %d rounds, %s CPUs; seconds from the fault to its event: median (min-max)\n' \
    "$pods" "$rounds" "$(nproc)"
  while IFS='|' read -r shape what goal; do
    read -r median min max < <(stats "$shape" "$what")
    printf '  %-5s %-33s %7.3f (%.3f-%.3f)%s\n' "$shape" "$what" "$median" "$min" "$max" "${goal:+  goal $goal}"
    [ -z "$goal" ] || awk "BEGIN { exit !($max <= $goal) }" || missed=1
  done < <(cut -d'|' -f1,2,4 "$work/figures" | sort -u)
  return $missed
}

bench_pods $((pods + 1)) --share "$share"
for ((i = 0; i < pods; i++)); do agent_in "train-$i"; done
for shape in star tree; do
  options=() cut=$leaf broken="\"event\":\"link-broken\",\"member\":\"$leaf\\."
  if [ $shape = tree ]; then
    options=(--fanout 2) cut=train-1 broken='"event":"link-broken","member":"train-1\.'
  fi
  start_job "${options[@]}"
  for ((round = 0; round < rounds; round++)); do one_round; done
  stop_launcher "$launchers_pod"
done
report

#!/usr/bin/env bash
# ./dev bench detect [--pods N] [--rounds R]: how long from a fault until the launcher's event log has
# it, in a star and in a tree of fan-out 2. What ends is known when a rank's or a connection's end is read; what
# is silent when heartbeats are missed (`link-broken`; the member may come back within --link-grace, which
# goes by before it is `lost`). Figures are medians with min and max; a goal that is missed makes the exit
# code 1.
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev bench detect}
podbox=$build/tests/podbox/podbox
muster=$build/launcher/muster
here=$(cd "$(dirname "$0")" && pwd)
pods=8 rounds=5 limit=60
while [ $# -gt 1 ]; do
  case $1 in
    --pods) pods=$2 ;;
    --rounds) rounds=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# = 0 ] && ((pods >= 4)) || { echo "bench detect: --pods N (4 or more), --rounds R" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "bench detect: emulated pods need root" >&2; exit 77; }

work=$(mktemp -d)
share=$work/share
mkdir "$share"
events=$share/events
export PODBOX_BED=bench-$$ PODBOX_BIND=$build
clean_up() {
  "$podbox" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
# shellcheck source=tests/bench/pods.bash
source "$here/pods.bash"

leaf=train-$((pods - 1)) # in the tree: three links away from 8 pods on
launchers_pod=train-$pods

serve() { "$podbox" exec "$1" -d "$build/agent/musterd"; }

# pid_in POD PATTERN: the first that matches, on the host.
pid_in() { "$podbox" ps "$1" | awk -v p="$2" '$0 ~ p { print $1; exit }'; }

until_true() {
  local end=$((EPOCHSECONDS + limit))
  until "$@" 2>/dev/null; do
    [ $EPOCHSECONDS -lt $end ] || { echo "bench detect: not within $limit s: $*" >&2; tail -5 "$work/err" >&2; return 1; }
    sleep 0.02
  done
}

# happened N PATTERN: an event behind the N-th line.
happened() { tail -n +"$(($1 + 1))" "$events" | grep -qE -- "$2"; }
runs() { [ "$(grep -c '"event":"started"' "$events")" -ge $((pods * $1)) ]; }
ended() { ! kill -0 "$1"; }

# start_job OPTION...: sleeping ranks.
start_job() {
  rm -f "$events"
  "$podbox" exec "$launchers_pod" "$muster" run -q --pods "train-[0-$((pods - 1))].train" --slots 1 --pmi none \
    --on-failure restart --healthy 0 --same-failures 0 --max-restarts 1000 --grace 1 --link-grace 2 \
    --orphan-grace 3 --events "$events" "$@" sleep 100000 2>"$work/err" &
  job=$!
  attempt=1
  until_true runs 1
}

stop_job() {
  kill -TERM "$(pid_in "$launchers_pod" 'launcher/muster run')"
  until_true ended "$job"
}

# strike WHAT EVENT GOAL CMD...: from before the command to the event's own time.
strike() {
  local what=$1 event=$2 goal=$3 before start at
  before=$(wc -l <"$events") start=$EPOCHREALTIME
  "${@:4}"
  until_true happened "$before" "$event"
  at=$(tail -n +"$((before + 1))" "$events" | grep -m1 -E -- "$event" | sed 's/.*"time":"\([^"]*\)".*/\1/')
  awk -v s="$start" -v e="$(date -u -d "$at" +%s.%3N)" -v l="$shape|$what|$goal" \
    'BEGIN { printf "%s|%.3f\n", l, e - s }' >>"$work/figures"
}

again() { until_true runs $((++attempt)); }

one_round() {
  strike 'rank killed' '"event":"exited".*"status":9' 0.2 kill -KILL "$(pid_in "$leaf" ' sleep 100000$')"
  again
  strike 'agent killed' "\"event\":\"lost\",\"member\":\"$leaf" '' kill -KILL "$(pid_in "$leaf" '/musterd$')"
  serve "$leaf"
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

# stats SHAPE WHAT: median, min, max.
stats() {
  awk -F'|' -v s="$1" -v w="$2" '$1 == s && $2 == w { print $4 }' "$work/figures" | sort -n |
    awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

report() {
  local shape what goal median min max missed=0
  printf '%d pods, %d rounds, %s CPUs; seconds from the fault to its event: median (min-max)\n' \
    "$pods" "$rounds" "$(nproc)"
  while IFS='|' read -r shape what goal; do
    read -r median min max < <(stats "$shape" "$what")
    printf '  %-5s %-33s %7.3f (%.3f-%.3f)%s\n' "$shape" "$what" "$median" "$min" "$max" "${goal:+  goal $goal}"
    [ -z "$goal" ] || awk "BEGIN { exit !($max <= $goal) }" || missed=1
  done < <(cut -d'|' -f1-3 "$work/figures" | sort -u)
  return $missed
}

bench_pods $((pods + 1)) --share "$share"
for ((i = 0; i < pods; i++)); do serve "train-$i"; done
for shape in star tree; do
  options=() cut=$leaf broken="\"event\":\"link-broken\",\"member\":\"$leaf\\."
  if [ $shape = tree ]; then
    options=(--fanout 2) cut=train-1 broken='"event":"link-broken","member":"train-1\.'
  fi
  start_job "${options[@]}"
  for ((round = 0; round < rounds; round++)); do one_round; done
  stop_job
done
report

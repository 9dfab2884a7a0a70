#!/usr/bin/env bash
# ./dev bench hostfile [--lines N] [--rounds R]: reading a hostfile of a million lines, beside awk
# (CPU seconds, medians). Rounds are interleaved. A tenth of the lines beside them shows whether
# time and memory are linear.
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev bench hostfile}
muster=$build/launcher/muster
lines=1000000 rounds=5
while [ $# -gt 0 ]; do
  case $1 in
    --lines) lines=$2 ;;
    --rounds) rounds=$2 ;;
    *) echo "bench hostfile: what is $1? --lines N, --rounds R" >&2; exit 2 ;;
  esac
  shift 2
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
generate() {
  awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "worker-" i ".job.team.svc slots=8" }'
}
generate "$lines" >"$work/all"
generate $((lines / 10)) >"$work/tenth"

# time_of ROW CMD...: a line of CPU seconds goes to the row's file.
time_of() {
  local row=$1 TIMEFORMAT='%U %S'
  shift
  { time "$@" >/dev/null 2>"$work/stderr"; } 2>>"$work/$row.times" || { cat "$work/stderr" >&2; exit 1; }
}

# shellcheck disable=SC2016  # awk's own variables
for ((i = 0; i < rounds; i++)); do
  time_of words awk '{ n += NF } END { print n }' "$work/all"
  time_of table awk '{ split($2, kv, "="); slots[$1] = kv[2] } END { print length(slots) }' "$work/all"
  time_of print awk '{ split($2, kv, "="); print $1 ":" kv[2] }' "$work/all"
  time_of json "$muster" hostfile -q --from "$work/all" --to json
  time_of hydra "$muster" hostfile -q --from "$work/all" --to hydra
  time_of tenth "$muster" hostfile -q --from "$work/tenth" --to json
done

median() { awk '{ print $1 + $2 }' "$work/$1.times" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

row() { printf '%-48s %6.2f s\n' "$2" "$(median "$1")"; }
echo "$lines lines, CPU seconds, median of $rounds rounds ($(awk -W version 2>&1 | head -1))"
row words 'awk, counting words'
row table 'awk, hosts and counts into a table'
row print 'awk, printing name:N'
row hydra 'muster hostfile --to hydra'
row json 'muster hostfile --to json'
row tenth 'muster hostfile --to json, a tenth of the lines'
awk -v a="$(median table)" -v w="$(median words)" -v m="$(median json)" -v t="$(median tenth)" 'BEGIN {
  printf "muster / awk: %.1f (table), %.1f (words); all / tenth: %.1f\n", m / a, m / w, m / t }'

#!/usr/bin/env bash
# ./dev fuzz [--seconds N] [TARGET...]: every target for N seconds (60), from the cases of the field.
# --runs N instead: N inputs from seed 1, the same ones each time (./dev check: what it finds is the
# change's doing).
# What is new is kept in the build folder; what a finding needs is left in findings/.
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev fuzz}
tests=$(cd "$(dirname "$0")/.." && pwd)
seconds=60 runs=-1 seed=0 only=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds wants a number}; shift ;;
    --runs) runs=${2:?--runs wants a number} seed=1; shift ;;
    -*) echo "fuzz: what is $1? --seconds N" >&2; exit 2 ;;
    *) only+=("$1") ;;
  esac
  shift
done

work=$build/fuzzing
mkdir -p "$work/findings"

targets() { grep -v '^#' "$tests/fuzz/targets"; }

wanted() {
  local one
  [ "${#only[@]}" -gt 0 ] || return 0
  for one in "${only[@]}"; do [ "$one" = "$1" ] && return 0; done
  return 1
}

for name in ${only[@]+"${only[@]}"}; do
  targets | cut -d' ' -f1 | grep -qx "$name" || { echo "fuzz: there is no target $name" >&2; exit 2; }
done

# fuzz TARGET PROGRAM SEEDS: its log goes to TARGET.log
fuzz() {
  mkdir -p "$work/corpus/$1"
  ln -sf "$build/tests/fuzz/$2" "$work/fuzz-$1"
  timeout -k 5 $((seconds + 60)) "$work/fuzz-$1" -max_total_time="$seconds" -runs="$runs" -seed="$seed" -timeout=10 -rss_limit_mb=2048 \
    -max_len=4096 -print_final_stats=1 -artifact_prefix="$work/findings/$1-" \
    "$work/corpus/$1" "$tests/$3" >"$work/$1.log" 2>&1
}

failed=()
while read -r name program seeds; do
  wanted "$name" || continue
  if fuzz "$name" "$program" "$seeds"; then
    printf '%-10s %s runs, no finding\n' "$name" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")"
  else
    failed+=("$name")
    grep -m 5 -E 'ERROR|SUMMARY|runtime error|Test unit|^[a-z].*: ' "$work/$name.log" || tail -20 "$work/$name.log"
  fi
done < <(targets)
if [ "${#failed[@]}" -gt 0 ]; then
  echo "fuzz: findings in ${failed[*]}: see $work/*.log and $work/findings" >&2
  exit 1
fi

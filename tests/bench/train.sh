#!/usr/bin/env bash
# ./dev bench train [--rounds R] [--steps N]: what a step of muster-train costs: the matrix products in
# it beside OpenBLAS's (CPU time of one thread), and tokens/s of 1 and 2 ranks on this machine.
# Rounds are interleaved; figures are medians. The losses of both are compared on the way.
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev bench train}
top=$(cd "$(dirname "$0")/../.." && pwd)
muster=$build/launcher/muster
train=$build/kernels/train/muster-train
rounds=3 steps=20
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2 ;;
    --steps) steps=$2 ;;
    *) echo "bench train: what is $1? --rounds R, --steps N" >&2; exit 2 ;;
  esac
  shift 2
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat "$top"/doc/*.md >"$work/text"
recipe=(--text "$work/text" --dim 256 --hidden 704 --layers 4 --seq-len 256 --steps "$steps" --warmup 1
  --every "$steps")

echo "== matrix products of a step (dim 256, hidden 704, 256 tokens)"
"$build/tests/bench/gemm"

# run RANKS ROUND
run() {
  "$muster" run --local -n "$1" "$train" "${recipe[@]}" --dir "$work/$1-$2" >/dev/null
  grep -v '^#' "$work/$1-$2/loss.tsv" | cut -f8 >>"$work/$1.tokens"
}

for ((i = 0; i < rounds; i++)); do
  run 1 "$i"
  run 2 "$i"
done
cmp <(cut -f1-4 "$work/1-0/loss.tsv") <(cut -f1-4 "$work/2-0/loss.tsv") ||
  { echo "bench train: the losses of 1 and 2 ranks differ" >&2; exit 1; }

echo "== tokens/s, median of $((rounds * steps)) steps on $(nproc) cores"
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
one=$(median "$work/1.tokens") two=$(median "$work/2.tokens")
awk -v a="$one" -v b="$two" 'BEGIN { printf "1 rank %d, 2 ranks %d: %.2f times\n", a, b, b / a }'

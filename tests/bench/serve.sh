#!/usr/bin/env bash
# ./dev bench serve [--rounds R] [--tokens N]: what muster-infer serves on this machine. First the matrix
# products of a step beside OpenBLAS's (CPU time of one thread), then tokens/s over HTTP of 1 rank, TP=2
# and PP=2, with 1, 4 and 16 texts at once. Rounds are interleaved; figures are medians.
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev bench serve}
muster=$build/launcher/muster
infer=$build/kernels/infer/muster-infer
rounds=3 tokens=64 prompt=256
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2 ;;
    --tokens) tokens=$2 ;;
    *) echo "bench serve: what is $1? --rounds R, --tokens N" >&2; exit 2 ;;
  esac
  shift 2
done

dim=256 hidden=704 layers=4
grids=(tp=1 tp=2 "tp=1,pp=2") batches=(1 4 16)
work=$(mktemp -d)
servers=()
cleanup() {
  local pid
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
  rm -rf "$work"
}
trap cleanup EXIT

echo "== matrix products of a step"
"$build/tests/bench/decode" $dim $hidden $layers 256 | tee "$work/products"
"$build/tests/bench/decode" 768 2048 2 256 11

"$infer" --make-random "dim=$dim,hidden=$hidden,layers=$layers,length=512" --seed 1 "$work/model"
declare -A url
for grid in "${grids[@]}"; do
  "$muster" run --grid "$grid" "$infer" "$work/model" --listen 0 --slots 16 >"$work/$grid.log" 2>&1 &
  servers+=($!)
done
for grid in "${grids[@]}"; do
  for ((i = 0; i < 600; i++)); do
    url[$grid]=$(sed -n 's/.*http: listens at //p' "$work/$grid.log")
    [ -z "${url[$grid]}" ] || break
    sleep 0.1
  done
  [ -n "${url[$grid]}" ] || { cat "$work/$grid.log" >&2; echo "bench serve: $grid does not serve" >&2; exit 1; }
done

# body BATCH PROMPT-LENGTH MAX-TOKENS
body() {
  python3 -c 'import json, sys
batch, n, most = map(int, sys.argv[1:])
print(json.dumps({"prompt": [[(7 * i + k) % 255 + 1 for k in range(n)] for i in range(batch)], "max_tokens": most,
                  "temperature": 0, "return_token_ids": True}))' "$@"
}

# ask GRID KIND BATCH FIELD: the field's tokens/s into a file of the kind; the answer's tokens beside it.
ask() {
  local seconds
  seconds=$(curl -sS -m 120 -o "$work/answer" -w '%{time_total}' "http://${url[$1]}/v1/completions" -d "@$work/$2-$3.json")
  sed -n "s/.*\"$4\":\\([0-9]*\\).*/\\1/p" "$work/answer" | awk -v s="$seconds" '{ print $1 / s }' >>"$work/$2-$3-$1"
  grep -o '"token_ids":\[[0-9,]*\]' "$work/answer" >"$work/tokens-$1"
}

for batch in "${batches[@]}"; do
  body "$batch" $prompt 1 >"$work/prefill-$batch.json"
  body "$batch" 1 "$tokens" >"$work/decode-$batch.json"
done
for ((i = 0; i < rounds; i++)); do
  for batch in "${batches[@]}"; do
    for kind in prefill decode; do
      for grid in "${grids[@]}"; do
        ask "$grid" $kind "$batch" "$([ $kind = prefill ] && echo prompt_tokens || echo completion_tokens)"
        cmp "$work/tokens-tp=1" "$work/tokens-$grid" ||
          { echo "bench serve: $grid gives other tokens than one rank" >&2; exit 1; }
      done
    done
  done
done

median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# floor ROWS: tokens/s that OpenBLAS's products alone would allow.
floor() { awk -v n="$1" '$1 == n && /OpenBLAS/ { for (i = 1; i < NF; i++) if ($i == "OpenBLAS") print n / ($(i + 1) / 1e3) }' "$work/products"; }

echo "== tokens/s over HTTP on $(nproc) cores, medians of $rounds; floor: OpenBLAS's products alone, on one core"
for kind in prefill decode; do
  for batch in "${batches[@]}"; do
    rows=$([ $kind = prefill ] && echo 64 || echo "$batch")
    awk -v kind=$kind -v batch="$batch" -v one="$(median "$work/$kind-$batch-tp=1")" -v tp="$(median "$work/$kind-$batch-tp=2")" \
      -v pp="$(median "$work/$kind-$batch-tp=1,pp=2")" -v floor="$(floor "$rows")" 'BEGIN {
        printf "%-7s %2d texts: 1 rank %6d", kind, batch, one
        if (floor > 0) printf " (%.2f of the floor)", one / floor
        printf ", TP=2 %6d (%.2f times), PP=2 %6d (%.2f times)\n", tp, tp / one, pp, pp / one
      }'
  done
done

#!/usr/bin/env bash
# ./dev demo serve: 4 emulated pods serve a small model over HTTP, as 2 tensor-parallel ranks in each of
# 2 stages, then as 2 ranks for prompts and 2 for what follows, before and after one of these pods is
# replaced. The tokens are always those of one rank. The model is that of ./dev demo train, if it is
# there; else a short training makes one. Ends with "demo: ok".
set -euo pipefail

demo=serve
# shellcheck source=tests/demo_pods.bash
source "$(dirname "$0")/demo_pods.bash"
infer=$build/kernels/infer/muster-infer
prompts=('The ' 'In the beginning' 'A launcher for')

# serves N: a server has begun to listen for the N-th time.
serves() { [ "$(grep -c 'http: listens at' "$out/log")" -ge "$1" ]; }

tokens_of() { grep -o '"token_ids":\[[0-9,]*\]'; }

# ask POD: all prompts at once, from a pod that serves nothing; their tokens have to be those of one rank.
ask() {
  local body at list=()
  printf -v body '"%s",' "${prompts[@]}"
  body="{\"prompt\": [${body%,}], \"max_tokens\": 60, \"temperature\": 0.8, \"seed\": 1, \"return_token_ids\": true}"
  at=$("$podbox" ip "$1")
  "$podbox" exec serve-4 curl -sS -m 60 "http://$at:8000/v1/completions" -d "$body" >"$out/answer"
  mapfile -t list < <(tokens_of <"$out/answer")
  cmp "$out/want" <(printf '%s\n' "${list[@]}") || die "other tokens than one rank's"
  printf '   %d prompts, 60 tokens each, drawn from a seed: the same as on one rank\n' "${#prompts[@]}"
}

# start OPTIONS...: muster run in serve-4, which is in no job.
start() {
  : >"$out/log"
  "$podbox" exec serve-4 "$muster" run --pods 'serve-[0-3].serve' --ppn 1 "$@" >"$out/log" 2>&1 &
  job=$!
  wait_for 60 serves 1
}

# The launcher itself, in its pod: podbox hands signals on.
stop() {
  kill -TERM "$job"
  wait "$job" || true
}

[ -x "$infer" ] || die "no muster-infer: run ./dev build"
rm -rf "$out"
mkdir -p "$out"
if [ -f "$build/demo-train/model.bin" ]; then
  cp "$build/demo-train/model.bin" "$out/model.bin"
else
  say "a short training on one rank (./dev demo train makes a better model)"
  cat "$top"/README.md "$top"/doc/*.md >"$work/text"
  "$build/kernels/train/muster-train" --text "$work/text" --dim 64 --hidden 176 --steps 60 --dir "$work/dir" \
    --export "$out/model.bin" | tail -n 1 | sed 's/^/   /'
fi

say "on 1 rank"
args=()
for prompt in "${prompts[@]}"; do args+=(--prompt "$prompt"); done
"$infer" "$out/model.bin" "${args[@]}" --json --max-tokens 60 --temperature 0.8 --seed 1 >"$out/alone"
tokens_of <"$out/alone" >"$out/want"
sed 's/^{"index":\([0-9]*\),"text":\(".*"\),"finish_reason.*/   \1: \2/' "$out/alone"

say "5 pods, the agent in each"
"$muster" keygen "$work/key" >/dev/null
"$podbox" volume put key "$work/key" >/dev/null
"$podbox" up 5 --name serve --bind "$build" --share "$out" --secret key:/etc/muster/ssh -- "$musterd" |
  sed 's/^/   /'

say "served by 4 pods: tensor-parallel 2, pipeline 2"
start --grid tp=2,pp=2 --grid-allow-split "$infer" "$out/model.bin" --listen 0.0.0.0:8000
ask serve-0
stop

say "served by 2 prefill and 2 decode pods"
start --on-failure restart --grace 1 --healthy 0 --role prefill -n 2 "$infer" "$out/model.bin" --role prefill \
  : --role decode -n 2 "$infer" "$out/model.bin" --role decode --pp 2 --listen 0.0.0.0:8000
ask serve-2
say "pod serve-3, of decode, is killed, and a new one takes its place"
"$podbox" replace serve-3 >/dev/null
wait_for 60 serves 2
ask serve-2
grep 'positions came from 2 ranks' "$out/log" | sort | uniq -c | sed 's/^/   /'
[ "$(grep -c 'positions came from 2 ranks' "$out/log")" = $((2 * ${#prompts[@]})) ] ||
  die "prompts were computed by decode"
stop
printf '\ndemo: ok\n'

#!/usr/bin/env bash
# ./dev demo train: 4 emulated pods train a small model, one pod is replaced in mid-training, and the
# losses are those of one rank that nothing disturbed, bit for bit. What comes out stays in
# build/demo-train: the model (llama2.c's format), the losses, their plot. Ends with "demo: ok".
set -euo pipefail

demo=train
# shellcheck source=tests/demo_pods.bash
source "$(dirname "$0")/demo_pods.bash"
train=$build/kernels/train/muster-train
steps=${DEMO_STEPS:-120}

# the_text: the bible where Debian's bible-kjv is installed, else Muster's own documents.
the_text() {
  if command -v bible >/dev/null; then
    bible -f gen:rev 2>/dev/null
  else
    cat "$top"/README.md "$top"/doc/*.md "$top"/man/*.scd
  fi
}

# at_step N: the losses of N steps are in the log.
at_step() { [ -e "$out/pods/loss.tsv" ] && [ "$(grep -vc '^#' "$out/pods/loss.tsv")" -ge "$1" ]; }

[ -x "$train" ] || die "no muster-train: run ./dev build"
rm -rf "$out"
mkdir -p "$out"
the_text >"$out/text"
recipe=(--text "$out/text" --steps "$steps" --every 10)

say "4 pods, the agent in each; $(wc -c <"$out/text") bytes of text to learn"
"$muster" keygen "$work/key" >/dev/null
"$podbox" volume put key "$work/key" >/dev/null
"$podbox" up 4 --name train --bind "$build" --share "$out" --secret key:/etc/muster/ssh -- "$musterd" |
  sed 's/^/   /'

say "training on 4 ranks, parameters sharded (ZeRO-3)"
"$podbox" exec train-0 "$muster" run --dns train --slots 1 -n 4 --on-failure restart --grace 1 --healthy 0 \
  "$train" "${recipe[@]}" --zero 3 --dir "$out/pods" --export "$out/model.bin" --plot "$out/loss.svg" \
  >"$work/log" 2>&1 &
job=$!
tail -n +1 -f --pid=$job "$work/log" | sed 's/^/   /' &
wait_for 120 at_step $((steps / 2))
say "pod train-2 is killed, and a new one takes its place"
"$podbox" replace train-2 >/dev/null
wait "$job" || die "the job failed"
wait

say "the same on 1 rank, which nothing disturbs"
"$train" "${recipe[@]}" --dir "$out/alone" --export "$work/alone.bin" | sed 's/^/   /'

say "compared"
runs=$(grep -v '^#' "$out/pods/loss.tsv" | cut -f5 | sort -u | wc -l)
[ "$runs" -ge 2 ] || die "nothing was restarted"
cmp <(cut -f1-4 "$out/pods/loss.tsv") <(cut -f1-4 "$out/alone/loss.tsv") || die "the losses differ"
cmp "$out/model.bin" "$work/alone.bin" || die "the models differ"
printf '   %d steps in %d runs: losses, norms and the model are the same bits\n' "$steps" "$runs"
printf '   %s: model.bin, loss.svg, pods/loss.tsv\n' "$out"
printf '\ndemo: ok\n'

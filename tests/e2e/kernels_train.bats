#!/usr/bin/env bats
# muster-train: the same losses, bit for bit, on any number of ranks, with every --zero, over kills
# and resumes; damaged checkpoints; and a pod that is replaced in mid-training.

setup() {
  load helper
  load muster
  train=$MUSTER_BUILDDIR/kernels/train/muster-train
  work=$BATS_TEST_TMPDIR
  cd "$work" || return
  cat "$MUSTER_SRCDIR"/doc/*.md >text
  model=(--text "$work/text" --dim 32 --hidden 64 --layers 2 --heads 4 --kv-heads 2 --seq-len 32
    --batch 5 --steps 40 --every 10 --warmup 5)
}

teardown() { bed_teardown; }

# on RANKS DIR OPTION...: a run to its end, on this machine.
on() {
  local ranks=$1 dir=$2
  shift 2
  if [ "$ranks" = 1 ]; then
    timeout 60 "$train" "${model[@]}" --dir "$dir" "$@"
  else
    timeout 60 "$muster" run --local -n "$ranks" "$train" "${model[@]}" --dir "$work/$dir" "$@"
  fi
}

# curve DIR: what has to be the same bits: step, loss, norm, rate.
curve() { cut -f1-4 "$1/loss.tsv"; }
same_curve() { cmp <(curve "$1") <(curve "$2"); }

# runs_of DIR: how many starts wrote the log.
runs_of() { grep -v '^#' "$1/loss.tsv" | cut -f5 | sort -u | wc -l; }

# flip FILE OFFSET: one bit of a byte is another.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  # shellcheck disable=SC2059  # the byte, in octal
  printf "\\$(printf %o $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

@test "losses and model are the same bits on 1 to 4 ranks, with every --zero" {
  local ranks zero
  on 1 alone --zero 0 --export "$work/alone.bin" --plot "$work/alone.svg" 3>&-
  [ "$(grep -vc '^#' alone/loss.tsv)" = 40 ]
  # It has learnt something: bytes at random have a loss of ln 256 = 5.5.
  awk -F '\t' '$1 == 1 { first = $2 } $1 == 40 { exit !($2 < first - 1) }' alone/loss.tsv
  for ranks in 1 2 3 4; do
    for zero in 0 1 2 3; do
      ((ranks == 4 || zero == ranks || zero == 3)) || continue
      on "$ranks" "r$ranks-$zero" --zero "$zero" --export "$work/model.bin" 3>&-
      same_curve alone "r$ranks-$zero"
      cmp alone.bin model.bin
    done
  done
  # Header: dim, hidden, layers, heads, kv_heads, vocab, seq_len.
  [ "$(od -An -td4 -N 28 alone.bin | xargs)" = '32 64 2 4 2 256 32' ]
  # 26784 parameters, and two tables of 32 positions x 8 / 2 pairs.
  [ "$(stat -c %s alone.bin)" = $((28 + 4 * (26784 + 2 * 32 * 4))) ]
  grep -q '<polyline points="[0-9]' alone.svg
}

checkpointed() { [ -e "$1/latest" ]; }

@test "a killed run goes on from its checkpoint on another number of ranks, bit for bit" {
  local victim
  on 1 alone 3>&-
  "$train" "${model[@]}" --dir killed >first.out 3>&- &
  victim=$!
  wait_for 60 checkpointed killed
  kill -KILL "$victim"
  wait "$victim" || :
  on 3 killed --until 30 --zero 3 3>&- >second.out
  on 2 killed --zero 2 --plot "$work/killed.svg" 3>&- >third.out
  on 4 killed --export "$work/killed.bin" 3>&- # nothing is left to do
  same_curve alone killed
  grep -q 'from step 30 of 40: 2 ranks (mpi), zero 2' third.out
  grep -q 'class="restart"' killed.svg
}

@test "a damaged checkpoint is told, and the one before it is taken" {
  on 1 alone 3>&-
  on 2 dir 3>&-
  [ "$(cat dir/latest)" = step-00000040-of-2 ]
  flip dir/step-00000040-of-2/shard-1 5000
  on 3 dir 3>&- >out
  grep -q '^damaged checkpoint: .*/step-00000040-of-2/shard-1: its CRC is .*: bytes have changed' out
  grep -q 'from step 30 of 40' out
  same_curve alone dir

  truncate -s -100 dir/step-00000040-of-3/shard-0
  on 1 dir 3>&- >out
  grep -q 'shard-0: it has .* bytes and should have .*: it was cut off' out
  same_curve alone dir

  rm dir/step-00000040-of-1/shard-0
  flip dir/step-00000030-of-2/shard-0 3000
  run -1 --separate-stderr on 1 dir 3>&-
  [[ $stderr == *"none of its 2 checkpoints is good"*"remove the directory to begin anew"* ]]
  [ "${#stderr_lines[@]}" = 1 ]
}

# refused TEXT OPTION...: one line on stderr, which has the text.
refused() {
  local text=$1
  shift
  run --separate-stderr timeout 20 "$train" "$@" 3>&-
  echo "$stderr"
  [ "$status" != 0 ]
  [[ $stderr == *"$text"* ]]
}

@test "bad input: one error, with what, where and what to do" {
  refused 'give a text with --text' --dir d
  refused 'give --dir DIR' --text text
  refused '--text nothing cannot be read: No such file' --text nothing --dir d
  refused 'give a text with --text' --text . --dir d
  head -c 100 text >short
  refused 'short: 100 bytes, and one sample takes 129' --text short --dir d
  refused '--zero 4: give a whole number from 0 to 3' --text text --dir d --zero 4
  refused 'a head has to have a whole, even number' --text text --dir d --dim 30 --heads 4
  refused 'kv_heads 3: it has to divide heads' --text text --dir d --heads 4 --kv-heads 3
  refused '--warmup 20: it has to be less than --steps (20)' --text text --dir d --steps 20 --warmup 20
  refused '/proc/none cannot be made' --text text --dir /proc/none
  on 1 d --until 10 3>&-
  refused 'it was made with --lr 0.002, and that is 0.001 now: give 0.002, or another --dir' \
    "${model[@]}" --dir d --lr 0.001
  refused 'it was made from another text' "${model[@]}" --text "$MUSTER_SRCDIR/README.md" --dir d
  echo step-10 >d/latest
  refused "d/latest: 'step-10' is no checkpoint's name" "${model[@]}" --dir d
  printf 'step-00000010-of-1\n' >d/latest
  echo nonsense >>d/loss.tsv
  refused "d/loss.tsv:12: 'nonsense' is no line of a loss log" "${model[@]}" --dir d
  refused 'the training diverges; give a smaller --lr' "${model[@]}" --dir e --lr 10 --decay 10 --clip 0
}

@test "a GPU is asked for where none can be used: it could not run, and why" {
  refused '--compute gpu: give cpu or cuda' --text text --dir d --compute gpu
  [ ! -e /dev/nvidia0 ] || skip "there is a GPU here: kernels/gpu-session.sh tests it"
  refused 'the CUDA back end could not run here: ' "${model[@]}" --dir d --compute cuda
  [ ! -e d ]
}

@test "a rank's error is told once, by all ranks of a job alike" {
  run --separate-stderr on 3 /proc/none 3>&-
  [ "$status" = 1 ]
  [ "$(grep -c '^muster-train: ' <<<"$stderr")" = 1 ]
}

@test "ranks with several texts, or recipes, are named before they train" {
  echo x | cat text - >text-1
  cp text text-0
  run --separate-stderr timeout 60 "$muster" run --local -n 2 \
    bash -c "exec $train ${model[*]} --dir $work/texts --text $work/text-\$RANK" 3>&-
  [ "$status" = 1 ]
  [[ $stderr == *"rank 1: another text (--text) than rank 0's: all ranks need the same"* ]]
  [ ! -e texts/latest ]
  run --separate-stderr timeout 60 "$muster" run --local -n 3 \
    bash -c "exec $train ${model[*]} --dir $work/seeds --seed \$((RANK > 0))" 3>&-
  [ "$status" = 1 ]
  [[ $stderr == *"ranks 1, 2: another recipe (--seed, "* ]]
}

@test "ranks whose directories are not one, or whose MPI is another's, say so" {
  run --separate-stderr timeout 60 "$muster" run --local -n 2 \
    bash -c "exec $train ${model[*]} --dir $work/of-\$RANK" 3>&-
  [ "$status" = 1 ]
  [[ $stderr == *"/of-0/step-00000010-of-2/shard-1: rank 1 has written it, and rank 0 does not see it"* ]]
  [ ! -e of-0/latest ]
  command -v mpiexec.mpich >/dev/null || skip "mpiexec.mpich is missing: install mpich"
  run timeout 60 mpiexec.mpich -n 2 "$train" "${model[@]}" --dir mpich 3>&-
  [ "$status" = 1 ]
  [[ $output == *"MPI made a world of 1, and PMI_SIZE says 2"* ]]
  [ ! -e mpich ]
}

@test "4 pods: one is replaced in mid-training, and the losses are those of 1 rank undisturbed" {
  bed_setup
  mkdir shared
  agents_up 4 --share "$work"
  model+=(--steps 300)
  lead timeout 200 "$muster" run --dns train --slots 1 -n 4 --on-failure restart --healthy 0 --grace 1 \
    --orphan-grace 2 --link-grace 1 "$train" "${model[@]}" --dir "$work/shared" --zero 3 >out 2>&1 3>&- &
  job=$!
  wait_for 60 checkpointed shared
  "$podbox" replace train-2
  "$podbox" exec train-2 -d "$musterd"
  on 1 alone 3>&- >alone.out
  ends_within 120 "$job"
  tail -n 20 out
  [ "$code" = 0 ]
  grep -q '^muster: ended well at attempt 2, after 1 restart' out
  [ "$(runs_of shared)" = 2 ]
  same_curve alone shared
}

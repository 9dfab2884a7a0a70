#!/usr/bin/env bash
# Everything worth doing on a machine with one GPU, in under 9 minutes: each kernel against the
# C one, gpucheck, planted faults, rates beside cudaMemcpy's and cuBLAS's, NCCL with one rank (its
# collectives, and training by them), training on 1 and on 4 ranks (collectives through the host's
# memory) against the CPU's losses, and inference against its tokens.
# Without a GPU it says what it would do, and skips it.
#
# Usage: kernels/gpu-session.sh [BUILD]     (default: build; what is there was built before)
# Ends with a table; exit code 0, or 1 where a step failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
build=$(realpath "${1:-build}") || exit
deadline=$((SECONDS + 520)) # seconds; what is not done by then is left out
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table=()

# why_not: what hinders, if something does.
why_not() {
  local session=$build/tests/bench/gpu_session said
  if [ ! -x "$session" ]; then
    echo "no $session: build where nvcc is"
  elif ! said=$(timeout 60 "$session" --ask); then
    echo "${said:-"$session --ask gave no answer in 60 s"}"
  fi
}

note() { table+=("$(printf '%-34s %-7s %s' "$1" "$2" "$3")"); }

# has NEEDED: a program, a library, or nothing (-).
has() {
  case $1 in
    -) ;;
    lib*) "$build/tests/bench/gpu_session" --has "$1" ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# step NAME SECONDS NEEDED COMMAND...: NEEDED is what it wants and may be missing.
step() {
  local name=$1 limit=$2 needed=$3 left=$((deadline - SECONDS)) rc=0 began=$SECONDS
  shift 3
  if [ -n "$missing" ]; then
    printf -- '-- %s: would run: %s\n' "$name" "$*"
    note "$name" skipped ''
  elif ! has "$needed"; then
    note "$name" skipped "no $needed"
  elif [ "$left" -lt "$limit" ]; then
    note "$name" skipped "$left s are left, it may take $limit"
  else
    printf -- '-- %s\n' "$name"
    timeout "$limit" "$@" || rc=$?
    case $rc in
      0) note "$name" pass "$((SECONDS - began)) s" ;;
      124) note "$name" FAIL "still at it after $limit s" ;;
      *) note "$name" FAIL "exit code $rc" ;;
    esac
  fi
}

# train NAME ARGS...: losses in $work/NAME.
train() {
  local name=$1
  shift
  "$@" --text "$work/text" --dir "$work/$name.d" --steps 40 --batch 4 --layers 2 &&
    cut -f1-2 "$work/$name.d/loss.tsv" >"$work/$name"
}

# same_losses NAME COMMAND...: the losses of muster-train, started by COMMAND, are the CPU's.
same_losses() {
  local name=$1 trainer=$build/kernels/train/muster-train
  shift
  [ -s "$work/text" ] || cat kernels/*/*.c >"$work/text"
  [ -s "$work/cpu" ] || train cpu "$trainer" || return
  train "$name" "$@" && cmp "$work/cpu" "$work/$name"
}

same_tokens() {
  local infer=$build/kernels/infer/muster-infer what=(--prompt 'In the beginning' --max-tokens 40 --json) kind
  "$infer" --make-random dim=288,hidden=768,layers=6,heads=6,kv_heads=6,length=256 --seed 7 "$work/model" || return
  for kind in cpu cuda; do
    "$infer" "$work/model" "${what[@]}" --compute "$kind" >"$work/tokens.$kind" || return
  done
  cmp "$work/tokens.cpu" "$work/tokens.cuda"
}

# NCCL can lie beside the CUDA toolkit, where the dynamic linker does not look.
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib:/usr/local/cuda/lib64
missing=$(why_not)
[ -n "$missing" ] || nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
step "kernels: GPU against C, bit by bit" 120 - env MUSTER_TEST_GPU=1 "$build/tests/unit/test_gpu_compute" -j1
step "gpucheck" 60 - "$build/kernels/check/gpucheck"
step "planted faults, rates, NCCL" 120 - "$build/tests/bench/gpu_session"
export -f same_losses same_tokens train
export build work
trainer=$build/kernels/train/muster-train
staged=("$trainer" --compute cuda --comm mpi)
step "training: CPU's losses, 1 rank" 100 - bash -c 'same_losses "$@"' - alone "${staged[@]}"
step "training: by NCCL, 1 rank" 60 libnccl.so.2 bash -c 'same_losses "$@"' - nccl "$trainer" --compute cuda --comm nccl
step "inference: the CPU's tokens" 60 - bash -c same_tokens
step "training: 4 ranks, staged by MPI" 120 mpirun bash -c 'same_losses "$@"' - four \
  mpirun --oversubscribe --allow-run-as-root -n 4 "${staged[@]}"
printf '\n'
[ -z "$missing" ] || printf 'all is skipped: %s\n' "$missing"
printf '%s\n' "${table[@]}"
case "${table[*]}" in *" FAIL "*) exit 1 ;; esac

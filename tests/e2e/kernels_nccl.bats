#!/usr/bin/env bats
# NCCL without GPUs: a stand-in libnccl.so.2 moves what emulated GPUs hold from process to process. The
# reference ranks' back end gives what MPI gives; its failures end a rank with a clear line; and
# netcheck finds what the stand-in spoils.

setup() {
  load helper
  load muster
  unit=$MUSTER_BUILDDIR/tests/unit
  export LD_LIBRARY_PATH=$unit/standin
  export FAKE_NCCL_DIR=$BATS_TEST_TMPDIR
  work=$BATS_TEST_TMPDIR
  cd "$work" || return
}

teardown() {
  [ -z "${server:-}" ] || kill "$server" 2>/dev/null || :
}

# broken: a folder whose libraries are none.
broken() {
  mkdir broken
  : >broken/libnccl.so.2
  : >broken/libcuda.so.1
}

# ranks N COMMAND...: on this machine, each with a GPU of its own unless $EMULATED_GPUS says less.
ranks() {
  local n=$1 x=()
  shift
  [ -z "${FAKE_NCCL:-}" ] || x+=(-x FAKE_NCCL)
  [ -z "${EMULATED_GPUS:-}" ] || x+=(-x EMULATED_GPUS)
  timeout 60 "$muster" run --local -n "$n" -x LD_LIBRARY_PATH -x FAKE_NCCL_DIR "${x[@]}" "$@"
}

@test "comm: each collective of nccl's table gives what the host's gives, on 1, 2 and 4 ranks" {
  run -0 timeout 30 "$unit/nccl_probe"
  [ "$output" = 'nccl as self on 1 ranks' ]
  local n
  for n in 2 4; do
    run -0 ranks "$n" "$unit/nccl_probe" 3>&-
    [[ $output == *"nccl as mpi on $n ranks"* ]]
  done
}

@test "comm: an element that NCCL spoils is seen by the probe" {
  FAKE_NCCL=flip=ReduceScatter:1:77@2 run ! ranks 2 "$unit/nccl_probe" 3>&-
  [[ $output == *"rank 1 of 2: reduce-scatter of 1000 differs"* ]]
}

@test "comm: an error of NCCL's ends the rank with call, rank and NCCL's text" {
  FAKE_NCCL=fail=AllReduce:1:2@2 run ! ranks 2 "$unit/nccl_probe" 3>&-
  [[ $output == *"muster: rank 1: ncclAllReduce: unhandled system error (2): the stand-in's last word"* ]]
  FAKE_NCCL=fail=CommInitRank:0:3 run ! ranks 2 "$unit/nccl_probe" 3>&-
  [[ $output == *"muster: rank 0: ncclCommInitRank: internal error (3)"* ]]
}

@test "comm: an error that comes while a rank waits for its GPU ends it, and so does a meeting without end" {
  FAKE_NCCL=late=AllGather:0:6@1 run ! ranks 2 "$unit/nccl_probe" 3>&-
  [[ $output == *"muster: rank 0: ncclAllGather: remote process exited or there was a network error (6)"* ]]
  FAKE_NCCL=hang=CommInitRank:1 run ! ranks 2 "$unit/nccl_probe" 1500 3>&-
  [[ $output == *"ncclCommInitRank: the ranks have not met in time"*"NCCL_SOCKET_IFNAME"* ]]
}

# ---- the reference ranks ----------------------------------------------------------

train_setup() {
  head -c 20000 "$MUSTER_SRCDIR/doc/DECISIONS.md" >text
  model=(--text "$work/text" --dim 16 --hidden 24 --layers 2 --heads 2 --kv-heads 1 --seq-len 12
    --batch 3 --steps 4 --every 2 --warmup 1)
}

# trained N DIR OPTION...: N ranks on emulated GPUs.
trained() {
  local n=$1 dir=$2
  shift 2
  if [ "$n" = 1 ]; then
    timeout 60 "$unit/emulated_train" "${model[@]}" --compute cuda --dir "$work/$dir" "$@"
  else
    ranks "$n" "$unit/emulated_train" "${model[@]}" --compute cuda --dir "$work/$dir" "$@"
  fi
}

same_curve() { cmp <(cut -f1-4 "$1/loss.tsv") <(cut -f1-4 "$2/loss.tsv"); }

@test "muster-train: with NCCL losses, model and checkpoints are those of one CPU, with every --zero" {
  train_setup
  timeout 60 "$MUSTER_BUILDDIR/kernels/train/muster-train" "${model[@]}" --dir cpu --export "$work/cpu.bin"
  local n zero
  for zero in 0 1 2 3; do
    n=$((zero == 1 ? 4 : zero == 3 ? 3 : 2))
    run -0 trained "$n" "nccl$zero" --zero "$zero" --export "$work/nccl.bin" 3>&-
    [[ $output == *": $n ranks (nccl), zero $zero"*"(cuda, emulated)"* ]]
    same_curve cpu "nccl$zero"
    cmp cpu.bin nccl.bin
  done
  # From one way's checkpoint to the other, and back.
  run -0 trained 2 both --zero 3 --until 2 3>&-
  run -0 trained 1 both --comm mpi --zero 1 3>&-
  [[ $output == *"from step 2 of 4: 1 ranks (self), zero 1"* ]]
  same_curve cpu both
}

checkpointed() { [ -e both/latest ]; }

@test "muster-train: a rank is killed amid NCCL's collectives: all are started again, and the losses are the same" {
  train_setup
  model+=(--steps 24 --every 2)
  timeout 60 "$MUSTER_BUILDDIR/kernels/train/muster-train" "${model[@]}" --dir cpu
  # shellcheck disable=SC2016  # for the rank's shell
  ranks 2 --on-failure restart sh -c 'echo $$ >"pid.$RANK.${MUSTER_ATTEMPT:-}"; exec "$0" "$@"' \
    "$unit/emulated_train" "${model[@]}" --compute cuda --comm nccl --dir "$work/both" >out 2>&1 3>&- &
  local job=$!
  wait_for 60 checkpointed
  kill -KILL "$(cat pid.1.*)"
  wait "$job"
  grep -q 'from step [1-9][0-9]* of 24: 2 ranks (nccl), zero 1' out
  same_curve cpu both
}

@test "muster-train: --comm says which way; auto goes through the host where ranks share a GPU, or NCCL is missing" {
  train_setup
  EMULATED_GPUS=1 run -0 trained 2 shared --until 1 3>&-
  [[ $output == *"2 ranks (mpi, staged: ranks 0 and 1 share a GPU (GPU-emulated-0)), zero 1"* ]]
  EMULATED_GPUS=1 run ! trained 2 other --comm nccl --until 1 3>&-
  [[ $output == *"--comm nccl: ranks 0 and 1 share a GPU (GPU-emulated-0); --comm mpi goes through the host's memory"* ]]
  broken
  LD_LIBRARY_PATH=$work/broken run -0 trained 1 missing --until 1
  [[ $output == *"(self, staged: no NCCL here: "*"/libnccl.so.2: file too short), zero 1"* ]]
  run -1 timeout 20 "$MUSTER_BUILDDIR/kernels/train/muster-train" "${model[@]}" --dir d --comm nccl
  [[ $output == *"--comm nccl: ranks compute on CPUs (--compute cuda is for GPUs)"* ]]
  run -125 timeout 20 "$MUSTER_BUILDDIR/kernels/train/muster-train" "${model[@]}" --dir d --comm gloo
  [[ $output == *"--comm gloo: give auto, mpi or nccl"* ]]
}

@test "muster-infer: tensor-parallel ranks by NCCL give one CPU's tokens" {
  local infer=$MUSTER_BUILDDIR/kernels/infer/muster-infer
  local what=(--prompt 'In the beginning' --prompt 'And' --max-tokens 12 --json)
  "$infer" --make-random dim=16,hidden=40,layers=2,heads=4,kv_heads=2,length=40 --seed 7 model
  "$infer" model "${what[@]}" >one
  run -0 --separate-stderr ranks 2 "$unit/emulated_infer" "$work/model" "${what[@]}" --compute cuda --comm nccl 3>&-
  diff one <(printf '%s\n' "$output")
  EMULATED_GPUS=1 run -0 --separate-stderr ranks 2 "$unit/emulated_infer" "$work/model" "${what[@]}" --compute cuda 3>&-
  diff one <(printf '%s\n' "$output")
  [[ $stderr == *"no NCCL, so ranks go through the host's memory: ranks 0 and 1 share a GPU"* ]]
}

# ---- netcheck ---------------------------------------------------------------------

export MUSTER_CHECK_TOKEN=token-of-the-pair
quick=(--deadline 50 --transfer 0.1 --bytes 1M)

# pair OPTION...: netcheck's two ends; $FAKE_CUDA and $FAKE_NCCL are both ends'. $status and $output: the
# dialler's; $served: what the listener says.
pair() {
  local netcheck=$MUSTER_BUILDDIR/kernels/check/netcheck port
  rm -f listening
  timeout 60 "$netcheck" --serve 127.0.0.1:0 "${quick[@]}" "$@" >served 2>listening 3>&- &
  server=$!
  wait_for 30 grep -q 'listening on' listening
  port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\)$/\1/p' listening)
  run --separate-stderr timeout 60 "$netcheck" --to "127.0.0.1:$port" "${quick[@]}" "$@" 3>&-
  wait "$server" || :
  server=
  served=$(<served)
  printf '%s\n' "$output" "$served"
}

@test "netcheck --over nccl: the GPUs of both ends pass, and all elements were looked at" {
  FAKE_CUDA=count=2 pair --over nccl
  [ "$status" = 0 ]
  [[ $output == *'"verdict":"pass"'*'"over":"nccl"'*'"rounds":3,"gpus":2,"ranks":4,'*'"outcome":"ok"'* ]]
  [[ $served == *'"verdict":"pass"'*'"over":"nccl"'*'"outcome":"ok"'* ]]
}

@test "netcheck --over nccl: one wrong element is found, with rank, GPU and element, by both ends" {
  FAKE_CUDA=count=2 FAKE_NCCL=flip=AllReduce:3:77@67 pair --over nccl
  [ "$status" = 1 ]
  [[ $output == *'NCCL, sum: 1 wrong elements in the buffer of rank 3, GPU 1 here (0000:31:00.0); the first is element 77'* ]]
  [[ $output == *'"in":"sum","count":1'*'"differs":"0x0000000000000020","rank":3,"gpu":1,"end":"here","element":77,"bus_id":"0000:31:00.0"'* ]]
  [[ $output == *'"outcome":"wrong"'* ]]
  [[ $served == *'"verdict":"fail"'*'rank 3, GPU 1 of the other end; the first is element 77'*'"outcome":"wrong"'* ]]
  FAKE_NCCL=flip=Broadcast:0:5@1 pair --over nccl
  [ "$status" = 1 ]
  [[ $output == *'NCCL, sent: 1 wrong elements in the buffer of rank 0, GPU 0 of the other end; the first is element 5'* ]]
  [[ $served == *'NCCL, received: 1 wrong elements in the buffer of rank 0, GPU 0 here (0000:30:00.0)'* ]]
}

@test "netcheck --over nccl: a hang, an error of NCCL's, and what is not there" {
  quick=(--deadline 5 --bytes 1M)
  FAKE_NCCL=hang=Broadcast:1 pair --over nccl
  [ "$status" = 1 ]
  [[ $output == *'it hangs (deadline: 5 s) in: NCCL, round 1: bytes to the other end'* ]]
  FAKE_NCCL=fail=CommInitRank:1:6 pair --over nccl
  [ "$status" = 1 ]
  [[ $output == *'NCCL: ncclCommInitRank: remote process exited or there was a network error (6)'*'"outcome":"hangs"'* ]]
  FAKE_CUDA=init=100 pair --over nccl
  [ "$status" = 2 ]
  [[ $output == *'--over nccl: cuInit: no CUDA-capable device is detected (100)'*'"outcome":"not-run"'* ]]
  broken
  LD_LIBRARY_PATH=$work/broken pair --over auto
  [ "$status" = 0 ]
  [[ $output == *'"over":"tcp"'*'"no_nccl":"no NVIDIA driver here: '* ]]
}

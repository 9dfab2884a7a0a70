#!/usr/bin/env bats
# Launches for models: grids of ranks, several programs, one command a node. What vLLM, SGLang,
# LMDeploy, Ray and torchrun are given is held against what they need, by stand-in programs
# that write their argv and environment down.

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 40 ./*.out || true
  bed_teardown
}

here() { run --separate-stderr timeout 60 "$muster" run "$@"; }

# ---- on this machine --------------------------------------------------------------------

@test "a grid numbers its ranks, fastest axis first; its product is the number of ranks" {
  here --grid tp=2,pp=2 sh -c 'echo $RANK $LOCAL_RANK $TP_RANK/$TP_SIZE $PP_RANK/$PP_SIZE $DP_RANK/$DP_SIZE'
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = '0 0 0/2 0/2 0/1
1 1 1/2 0/2 0/1
2 2 0/2 1/2 0/1
3 3 1/2 1/2 0/1' ]
  here -n 6 --grid tp=2,pp=2 true
  [ "$status" = 125 ]
  [ "$stderr" = 'muster run: -n is 6, but --grid has tp 2 x pp 2 x dp 1 = 4 ranks: leave out -n, or change a size' ]
  here --grid tp=2,ep=2 true
  [ "$status" = 125 ]
  [[ "$stderr" == *"--grid tp=2,ep=2: column 6: 'ep=2' is no axis: there are tp, pp and dp"* ]]
}

@test "layouts that contradict each other are one clear error" {
  here --per-node --grid tp=2 true
  [ "$status" = 125 ]
  [[ "$stderr" == *'give one of the two'* ]]
  here --per-node --ppn 2 true
  [ "$status" = 125 ]
  [[ "$stderr" == *'leave out --ppn'* ]]
  here --grid tp=2 --map-by node true
  [ "$status" = 125 ]
  [[ "$stderr" == *'leave out --map-by node'* ]]
  here --grid-allow-split true
  [ "$status" = 125 ]
  [[ "$stderr" == *'give --grid with them'* ]]
}

@test "placeholders: unknown ones name argument and column, values from here stand for themselves" {
  here --per-node echo ok '--addr={address}'
  [ "$status" = 125 ]
  [[ "$stderr" == "muster run: argument 2 of echo, '--addr={address}': column 8: there is no placeholder {address}; there are {node_rank} "* ]]
  here --per-node -x 'A=tcp://{hosts}' true
  [ "$status" = 125 ]
  [[ "$stderr" == 'muster run: -x A=tcp://{hosts}: column 9: there is no placeholder {hosts}'* ]]
  HERE='{rank}{{{x}' here --per-node -x HERE -x 'B={rank}' sh -c 'echo "$HERE $B $1"' sh '{{world} {"a":{"b":{world}}}'
  [ "$status" = 0 ]
  [ "$output" = '{rank}{{{x} 0 {world} {"a":{"b":1}}' ]
  here -n 1 echo '{rank} {any}' # only with --per-node
  [ "$output" = '{rank} {any}' ]
}

@test "several programs: each has its ranks and its variables, one world" {
  here -n 2 -x A=1 -x B=1 sh -c 'echo a $RANK/$WORLD_SIZE $A$B' : -n 1 -x A=2 --wdir /tmp sh -c 'echo b $RANK/$WORLD_SIZE $A$B $PWD'
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = 'a 0/3 11
a 1/3 11
b 2/3 21 /tmp' ]
  here -n 1 -- echo a : b # all of it is the program's
  [ "$status" = 0 ]
  [ "$output" = 'a : b' ]
  here -n 1 true : -n 1 false
  [ "$status" = 1 ]
  [[ "$stderr" == *'rank 1 '*'exit code 1'* ]]
  here -n 1 true :
  [ "$status" = 125 ]
  [[ "$stderr" == *"which program follows ':'?"* ]]
  here true : true
  [ "$status" = 125 ]
  [[ "$stderr" == *'2 of 2 programs have no -n'* ]]
  here --slots 2 -n 2 true : no-such-program
  [ "$status" = 125 ]
  [[ "$stderr" == *'no rank is left for no-such-program'* ]]
  run -127 timeout 60 "$muster" run -n 1 true : -n 1 no-such-program
  here -n 1 true : -n x true
  [ "$status" = 125 ]
  [[ "$stderr" == 'muster run: -n x: give a whole number'* ]]
}

@test "several MPI programs are one world, and MPI tells which one a rank is of" {
  local dir tried=''
  for dir in mpi mpich; do
    [ -x "$MUSTER_BUILDDIR/tests/$dir/apps" ] || continue
    tried=yes
    here -n 1 "$MUSTER_BUILDDIR/tests/$dir/apps" a : -n 2 "$MUSTER_BUILDDIR/tests/$dir/apps" b : -n 1 "$MUSTER_BUILDDIR/tests/$dir/apps" c
    [ "$status" = 0 ]
    [ "$(sort <<<"$output" | sed 's/universe [0-9]*/universe U/')" = 'a: rank 0 of 4 is of program 0, universe U, sum 6
b: rank 1 of 4 is of program 1, universe U, sum 6
b: rank 2 of 4 is of program 1, universe U, sum 6
c: rank 3 of 4 is of program 2, universe U, sum 6' ]
  done
  [ -n "$tried" ] || skip "tests/mpi/apps and tests/mpich/apps were not built"
}

# ---- on pods ----------------------------------------------------------------------------

@test "a grid on pods: groups stay on a pod, pipelines and sub-groups near; LeaderWorkerSet's are taken" {
  bed_setup
  agents_up 4
  place='echo $RANK $(hostname) $TP_RANK$PP_RANK$DP_RANK'
  run lead timeout 60 "$muster" run -q --pmi none --pods 'train-[0-3].train' --slots 2 --grid tp=2,dp=2,pp=2 sh -c "$place"
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = '0 train-0 000
1 train-0 100
2 train-2 001
3 train-2 101
4 train-1 010
5 train-1 110
6 train-3 011
7 train-3 111' ]
  run lead timeout 60 "$muster" run -q --pmi none --pods 'train-[0-3].train' --slots 2 --grid tp=4,dp=2 true
  [ "$status" = 125 ]
  [[ "$output" == *'no member has 4 slots left for the tensor-parallel group of ranks 0-3 (pp 0, dp 0)'*--grid-allow-split* ]]
  run lead timeout 60 "$muster" run -q --pmi none --pods 'train-[0-3].train' --slots 2 --grid tp=4,dp=2 --grid-allow-split \
    --grid-subgroup 2 sh -c "$place"
  [ "$(sort <<<"$output" | sed -n 5p)" = '4 train-2 001' ]
}

# lws_places [--env NAME=VALUE]...: the pod of each rank of pp=2, dp=2, one slot a pod.
lws_places() {
  run --separate-stderr timeout 60 "$podbox" exec train-0 "$@" "$muster" run -q --pmi none --slots 1 --grid pp=2,dp=2 \
    sh -c 'echo $RANK $(hostname)'
  echo "$stderr"
  [ "$status" = 0 ]
  places=$(sort <<<"$output" | cut -d' ' -f2 | paste -sd' ')
}

@test "sub-groups of a LeaderWorkerSet are respected, as its manifest hands them down" {
  bed_setup
  "$muster" keygen key >/dev/null
  "$podbox" volume put key key >/dev/null
  "$podbox" up --names 'train-0,train-0-1,train-0-2,train-0-3,train-0-4' --service train --secret key:/etc/muster/ssh \
    --env LWS_LEADER_ADDRESS=train-0.train.default --env LWS_GROUP_SIZE=5 --env 'LWS_WORKER_INDEX={index}' \
    -- "$musterd" >/dev/null
  lws_places
  [ "$places" = 'train-0 train-0-1 train-0-2 train-0-3' ]
  lws_places --env LWS_SUBGROUP_SIZE=2 # the leader is one more in the first
  [ "$places" = 'train-0 train-0-1 train-0-3 train-0-4' ]
  lws_places --env LWS_SUBGROUP_SIZE=2 --env LWS_SUBGROUP_POLICY_TYPE=LeaderExcluded
  [ "$places" = 'train-0-1 train-0-2 train-0-3 train-0-4' ]
  run timeout 60 "$podbox" exec train-0 --env LWS_SUBGROUP_SIZE=3 "$muster" run --slots 1 --grid pp=2 true
  [ "$status" = 125 ]
  [[ "$output" == *'5 members in sub-groups of 3'* ]]
}

# stand_ins NAME...: programs that write argv and environment into $shared, and end with the
# third attempt, when they are told to.
stand_ins() {
  local name
  for name in "$@"; do
    cat >"$shared/$name" <<'END'
#!/bin/sh
to=${0%/*}/records/${0##*/}.$MUSTER_NODE_RANK.$MUSTER_ATTEMPT
env | sort >"$to.env"
for word; do printf '%s\n' "$word"; done >"$to.part"
mv "$to.part" "$to.argv"
until [ -e "${0%/*}/end" ]; do sleep 0.2; done
END
    chmod +x "$shared/$name"
  done
}

# start NAME RUN-ARG...: a job of four pods; its launcher is in a fifth.
start() {
  local name=$1
  shift
  "$podbox" exec train-4 timeout 120 "$muster" run -q --on-failure restart --healthy 0 --grace 1 \
    --pods 'train-[0-3].train' --per-node "$@" >"$name.out" 2>&1 3>&- &
  jobs+=($!)
}

written() { [ "$(find "$shared/records" -name "*.$1.argv" | wc -l)" = $((4 * ${#names[@]})) ]; }

# argv_is NAME NODE ARG...: what the program had, in this attempt.
argv_is() {
  local file=$shared/records/$1.$2.$attempt.argv
  shift 2
  diff <(printf '%s\n' "$@") "$file"
}

# env_is NAME NODE [VARIABLE...]: the program's environment is its container's with Muster's
# variables and these.
env_is() {
  local name=$1 node=$2
  shift 2
  diff <({ "$podbox" exec "train-$node" env | grep -v '^PWD='
    printf '%s\n' "MASTER_ADDR=${ip[0]}" "MASTER_PORT=$port" "MUSTER_ATTEMPT=$attempt" "MUSTER_HOST=train-$node.train" \
      MUSTER_LOCAL_RANK=0 MUSTER_LOCAL_SIZE=1 MUSTER_NNODES=4 "MUSTER_NODE_RANK=$node" "MUSTER_RANK=$node" \
      "MUSTER_RESTART_COUNT=$((attempt - 1))" MUSTER_SIZE=4 "NODE_RANK=$node" "$@"; } | sort) \
    <(grep -v -e '^PWD=' -e '^MUSTER_JOB=' -e '^MUSTER_RESTART_REASON=' "$shared/records/$name.$node.$attempt.env")
}

port_of() { sed -n 's/^MASTER_PORT=//p' "$shared/records/$1.0.$attempt.env"; }

# check_all: every program on every node, in this attempt.
check_all() {
  local i name kv='{"kv_connector":"NixlConnector","kv_role":"kv_both"}' head headless
  ip=()
  for i in 0 1 2 3; do ip[i]=$("$podbox" ip "train-$i"); done
  for name in "${names[@]}"; do
    port=$(port_of "$name")
    [ "$port" -gt 1024 ]
    [[ " ${ports[$name]:-} " != *" $port "* ]] # a new one each time
    ports[$name]+=" $port"
    for i in 0 1 2 3; do
      headless=(--headless) head=("--address=${ip[0]}:$port")
      [ $i != 0 ] || headless=() head=(--head --port "$port")
      case $name in
        vllm)
          argv_is $name $i serve model --nnodes 4 --node-rank $i --master-addr "${ip[0]}" --master-port "$port" \
            --kv-transfer-config "$kv" "${headless[@]}"
          env_is $name $i "VLLM_HOST_IP=${ip[i]}" "VLLM_NIXL_SIDE_CHANNEL_HOST=${ip[i]}"
          ;;
        sglang)
          argv_is $name $i --model-path model --dist-init-addr "${ip[0]}:$port" --nnodes 4 --node-rank $i \
            --disaggregation-mode prefill
          env_is $name $i
          ;;
        lmdeploy)
          argv_is $name $i serve api_server model --nnodes 4 --node-rank $i
          env_is $name $i "LMDEPLOY_DIST_MASTER_ADDR=${ip[0]}" "LMDEPLOY_DIST_MASTER_PORT=$port"
          ;;
        ray)
          argv_is $name $i start "${head[@]}" --node-ip-address "${ip[i]}" --block
          env_is $name $i
          ;;
        torchrun)
          argv_is $name $i --nnodes 4 --node-rank $i --nproc-per-node 8 --master-addr "${ip[0]}" \
            --master-port "$port" train.py
          env_is $name $i
          ;;
      esac
    done
  done
}

@test "vLLM, SGLang, LMDeploy, Ray, torchrun: argv and environment of each node, over two replacements" {
  bed_setup
  shared=$BATS_TEST_TMPDIR/shared
  names=(vllm sglang lmdeploy ray torchrun)
  declare -A ports=()
  jobs=()
  mkdir -p "$shared/records"
  stand_ins "${names[@]}"
  agents_up 5 --share "$shared"
  local vllm=("$shared/vllm" serve model --nnodes '{nnodes}' --node-rank '{node_rank}' --master-addr '{leader_addr}'
    --master-port '{port}' --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
  start vllm -x 'VLLM_HOST_IP={local_addr}' -x 'VLLM_NIXL_SIDE_CHANNEL_HOST={local_addr}' \
    -n 1 "${vllm[@]}" : "${vllm[@]}" --headless
  start sglang "$shared/sglang" --model-path model --dist-init-addr '{leader_addr}:{port}' --nnodes '{nnodes}' \
    --node-rank '{node_rank}' --disaggregation-mode prefill
  start lmdeploy -x 'LMDEPLOY_DIST_MASTER_ADDR={leader_addr}' -x 'LMDEPLOY_DIST_MASTER_PORT={port}' \
    "$shared/lmdeploy" serve api_server model --nnodes '{nnodes}' --node-rank '{node_rank}'
  start ray -n 1 "$shared/ray" start --head --port '{port}' --node-ip-address '{local_addr}' --block : \
    "$shared/ray" start '--address={leader_addr}:{port}' --node-ip-address '{local_addr}' --block
  start torchrun "$shared/torchrun" --nnodes '{nnodes}' --node-rank '{node_rank}' --nproc-per-node 8 \
    --master-addr '{leader_addr}' --master-port '{port}' train.py
  for attempt in 1 2 3; do
    case $attempt in
      2) "$podbox" replace train-2; "$podbox" exec train-2 -d "$musterd" ;;
      3) "$podbox" replace train-0; "$podbox" exec train-0 -d "$musterd" ;; # all get another leader
    esac
    wait_for 60 written $attempt
    check_all
  done
  touch "$shared/end"
  local pid
  for pid in "${jobs[@]}"; do
    ends_within 30 "$pid"
    [ "$code" = 0 ]
  done
}

# ---- real torch -------------------------------------------------------------------------

# What the distribution brings, or PYTHONPATH names.
torch_setup() {
  timeout 60 /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null ||
    skip "torch is not installed (./dev check installs python3-torch)"
  bed_setup
  shared=$BATS_TEST_TMPDIR/shared
  mkdir -p "$shared"
  cp "$BATS_TEST_DIRNAME/torch_sum.py" "$shared"
  agents_up 4 --share "$shared"
  torch=(timeout 200 "$muster" run -q --on-failure restart --healthy 0 --grace 1 --pods 'train-[0-3].train'
    -x OMP_NUM_THREADS=1)
}

met() { [ "$(find "$shared" -name "met.$1.*" -size +0 | wc -l)" = "$2" ]; }

@test "torchrun on 4 pods: all ranks meet, and meet again after a pod's replacement" {
  torch_setup
  # Old and new torchruns take the underscores; Debian 12's cannot take its own default of --redirects.
  lead "${torch[@]}" --per-node /usr/bin/torchrun --nnodes '{nnodes}' --node_rank '{node_rank}' --nproc_per_node 1 \
    --redirects 1 --tee 1 --master_addr '{leader_addr}' --master_port '{port}' "$shared/torch_sum.py" "$shared" >torch.out 2>&1 3>&- &
  job=$!
  wait_for 100 met 1 4
  "$podbox" replace train-1
  "$podbox" exec train-1 -d "$musterd"
  ends_within 100 "$job"
  [ "$code" = 0 ]
  met 2 4
  grep -qx '4 ranks, sum 10, local rank 0' "$shared/met.2.3"
}

@test "DeepSpeed on 4 pods: its ranks find each other by Muster's variables, and again after a pod's replacement" {
  torch_setup
  load venv
  local why
  why=$(deepspeed_make) || skip "$why"
  cp "$BATS_TEST_DIRNAME/deepspeed_step.py" "$shared"
  # Its image brings what it has compiled; here it looks for a compiler, and writes below HOME.
  lead "${torch[@]}" --ppn 1 -x DS_ACCELERATOR=cpu "$MUSTER_BUILDDIR/deepspeed/venv/bin/python" "$shared/deepspeed_step.py" \
    "$shared" >torch.out 2>&1 3>&- &
  job=$!
  wait_for 100 met 1 4
  "$podbox" replace train-1
  "$podbox" exec train-1 -d "$musterd"
  ends_within 100 "$job"
  [ "$code" = 0 ]
  met 2 4
  grep -qx '4 ranks, local 0, weight -0.5625' "$shared"/met.[12].[0-3] && [ "$(cat "$shared"/met.?.? | sort -u | wc -l)" = 1 ]
}

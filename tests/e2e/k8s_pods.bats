#!/usr/bin/env bats
# contrib/k8s on emulated pods: what kubectl would send is what runs, by tests/k8s/translate.

setup_file() {
  load helper
  load venv
  load k8s
  [ -n "$(bed_missing)" ] || k8s_bed
}

setup() {
  load helper
  load muster
  load venv
  load k8s
  bed_setup
  k8s_need_renderer
  # What images have, where no manifest mounts anything: /tmp is an emptyDir.
  apps=$(mktemp -d /var/tmp/muster-k8s.XXXXXX)
  chmod 755 "$apps"
  cp "$MUSTER_BUILDDIR/tests/mpi/hello" "$MUSTER_SRCDIR/tests/k8s/patient.sh" "$MUSTER_SRCDIR/tests/k8s/serve.py" "$apps"
  hello=("${few[@]}" -e "s#- (python3|/app/train)\$#- $apps/hello#" -e '/train\.py$/d')
}

teardown() {
  if [ -n "${run_job:-}" ]; then
    kill "$run_job" 2>/dev/null || :
    wait "$run_job" || :
  fi
  [ -n "${BATS_TEST_COMPLETED:-}" ] || [ ! -d "${logs:-/nowhere}" ] || k8s_logs
  [ -z "${apps:-}" ] || rm -r "$apps"
  bed_teardown
}

# What a user changes: the program, and the number of ranks.
few=(-e 's/--ppn=8/--ppn=2/' -e 's/slots=8/slots=2/' -e 's/slotsPerWorker: 8/slotsPerWorker: 2/')
patient() { # ATTEMPTS [PROGRAM]
  patient=("${few[@]}" -e 's#- python3$#- /bin/sh#'
    -e "s#^( *)- /app/train.py#\1- $apps/patient.sh\n\1- \"$1\"${2:+\n\1- $2}#")
}

# ends_well POD/CONTAINER [ARG...]: it runs to exit code 0; 8 ranks of hello said so.
ends_well() {
  run -0 k8s_run "$@"
  echo "$output"
  all_met "$logs/${1/\//.}.log"
}

all_met() { [ "$(grep -c '^rank . of 8 on ' "$1")" = 8 ]; }

# start POD/CONTAINER: in the background; returns when all ranks of attempt 1 are at work.
start() {
  leader_log=$BATS_TEST_TMPDIR/logs/${1/\//.}.log
  k8s_start "$1"
  wait_for 60 at_work 1
}

at_work() { [ "$(grep -c "^rank . attempt $1 at " "$leader_log")" = 8 ]; }


@test "statefulset: not root, read-only; a pod is replaced in mid-job, the job ends right" {
  patient 2
  k8s_mine statefulset "${patient[@]}"
  start train-0/train
  k8s_order replace train-2
  ends_within 60 "$run_job"
  cat "$BATS_TEST_TMPDIR/events" "$leader_log"
  [ "$code" = 0 ]
  at_work 2
  grep -q 'attempt 1 failed: member train-2.train .*musterd got SIGTERM' "$leader_log"
  grep -q 'member train-2.train has moved from' "$leader_log"
  # Neither a probe nor fsGroup's mode is worth a line; the sidecars' hostfile is current.
  run ! grep -h -e 'not let in' -e 'lets group' "$logs"/train-*.train.log
  grep -qE "^$("$podbox" ip train-2)( |\$)" "/run/podbox/$PODBOX_BED/pods/train-1/empty/run/hostfile"
  # The others' pods and agents were not touched.
  [ "$(grep -c 'train: started' "$BATS_TEST_TMPDIR/events")" = 5 ]
}

@test "statefulset-configmap: members and slots of the ConfigMap; Open MPI ranks" {
  k8s_mine statefulset-configmap "${hello[@]}" -e 's/^(train-[0-3].train) slots=8/\1 slots=2/'
  sed -i 's/slots=8/slots=2/' "$BATS_TEST_TMPDIR/mine/statefulset-configmap/hostfile"
  render "$BATS_TEST_TMPDIR/mine/statefulset-configmap" "$manifest"
  ends_well train-0/train
}

@test "lws-training: a worker pod is replaced, then the leader's container killed; the job ends right" {
  patient 3
  k8s_mine lws-training "${patient[@]}"
  start train-0/train
  k8s_order replace train-0-2
  wait_for 60 at_work 2
  k8s_order kill train-0 train
  ends_within 60 "$run_job"
  cat "$BATS_TEST_TMPDIR/events" "$leader_log"
  [ "$code" = 0 ]
  at_work 3
  grep -q '^train-0: train: started again (1)' "$BATS_TEST_TMPDIR/events"
}

# met_again OVERLAY POD WORKER: in mid-job a worker's pod is replaced; Open MPI ranks meet in the next attempt.
met_again() {
  patient 2 "$apps/hello"
  k8s_mine "$1" "${patient[@]}"
  start "$2/train"
  k8s_order replace "$3"
  ends_within 60 "$run_job"
  cat "$BATS_TEST_TMPDIR/events" "$leader_log"
  [ "$code" = 0 ]
  at_work 2
  all_met "$leader_log"
  grep -q "member $3.train has moved from" "$leader_log"
  [ "$(grep -c 'train: started' "$BATS_TEST_TMPDIR/events")" = 5 ]
}

@test "jobset: a worker's pod is replaced in mid-job; Open MPI ranks on 4 pods" {
  met_again jobset train-workers-0-0 train-workers-0-2
}

@test "indexed-job: a worker's pod is replaced in mid-job; Open MPI ranks on 4 pods" {
  met_again indexed-job train-0 train-3
}

@test "mpijob: Secret, hostfile, modes and environment of mpi-operator; Open MPI ranks, no sshd" {
  k8s_mine mpijob "${hello[@]}"
  mkdir "$BATS_TEST_TMPDIR/ssh"
  ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f "$BATS_TEST_TMPDIR/ssh/ssh-privatekey"
  mv "$BATS_TEST_TMPDIR/ssh/ssh-privatekey.pub" "$BATS_TEST_TMPDIR/ssh/ssh-publickey"
  ends_well train-launcher/launcher --secret "train-ssh=$BATS_TEST_TMPDIR/ssh"
  [[ "$(cat "$logs/train-launcher.launcher.log")" != *'lets group or others'* ]]
}

# serves N OVERLAY SED...: starts it; returns when N nodes run, and the Service would send requests to the leader.
serves() {
  k8s_mine "${@:2}"
  leader_log=$logs/serve-0.server.log
  k8s_start serve-0/server
  wait_for 60 grep -q '^serve-0: ready' "$BATS_TEST_TMPDIR/events"
  wait_for 60 said 1 "$1"
}

# said ATTEMPT N: N nodes have started in it.
said() { [ "$(grep -c "^attempt $1 at " "$leader_log")" = "$2" ]; }

@test "lws-vllm: what each node's vLLM is told, before and after its worker's pod is replaced" {
  serves 2 lws-vllm -e "s#- vllm\$#- $apps/serve.py#"
  local model=meta-llama/Llama-3.1-405B-Instruct-FP8 sizes='--tensor-parallel-size=8 --pipeline-parallel-size=2'
  local leader worker attempt
  leader=$("$podbox" ip serve-0)
  for attempt in 1 2; do
    worker=$("$podbox" ip serve-0-1)
    grep -qxF "attempt $attempt at $leader: serve $model $sizes --nnodes=2 --node-rank=0 --master-addr=$leader --host=0.0.0.0 --port=8000" "$leader_log"
    grep -qxF "attempt $attempt at $worker: serve $model $sizes --nnodes=2 --node-rank=1 --master-addr=$leader --headless" "$leader_log"
    [ "$attempt" = 1 ] || break
    k8s_order replace serve-0-1
    wait_for 60 said 2 2
  done
}

@test "lws-sglang: what each node's SGLang is told" {
  serves 2 lws-sglang -e "s#- python3\$#- $apps/serve.py#"
  cat "$leader_log"
  local leader port
  leader=$("$podbox" ip serve-0)
  port=$(sed -n 's/.*--dist-init-addr=[^ ]*:\([0-9]*\) .*/\1/p' "$leader_log" | sort -u)
  [[ $port =~ ^[0-9]+$ ]]
  local all="-m sglang.launch_server --model-path=meta-llama/Llama-3.1-405B-Instruct-FP8 --tp=16 --dist-init-addr=$leader:$port --nnodes=2"
  grep -qxF "attempt 1 at -: $all --node-rank=0 --host=0.0.0.0 --port=8000" "$leader_log"
  grep -qxF "attempt 1 at -: $all --node-rank=1 --host=0.0.0.0 --port=8000" "$leader_log"
}

# ask BODY [CURL-OPTION...]: of the proxy, from a worker's pod; sets output and status.
ask() {
  run -0 "$podbox" exec serve-0-1 curl -sS --max-time 30 -w ' %{http_code}' "${@:2}" --data-binary "$1" \
    "http://$leader:8000/v1/completions"
}

# pd_places: sets leader, prefill and decode: where the pods of the prefill/decode group are.
pd_places() {
  leader=$("$podbox" ip serve-0)
  prefill=$("$podbox" ip serve-0-1)
  decode=("$("$podbox" ip serve-0-2)" "$("$podbox" ip serve-0-3)")
}

knows() { grep -qx "servers: prefill-0=$prefill decode-0=${decode[0]} decode-1=${decode[1]}" "$leader_log"; }

# both_answer: of two requests one is decoded at each of the two servers.
both_answer() {
  local i said=''
  for i in 1 2; do
    ask '{"prompt":"hello","max_tokens":5,"stream_options":{}}'
    said+=$output$'\n'
  done
  [ "$(sort <<<"$said" | sed 1d)" = "$(for i in "${decode[@]}"; do
    echo "{\"text\": \"hello x5 at $i, prefilled at $prefill\"} 200"; done | sort)" ]
}

@test "lws-prefill-decode: the proxy's requests take both kinds of servers, and find a decode pod that is replaced" {
  serves 3 lws-prefill-decode -e "s#- vllm\$#- $apps/serve.py#"
  pd_places
  local i serve='serve meta-llama/Llama-3.3-70B-Instruct --tensor-parallel-size=8 --host=0.0.0.0 --port=8000'
  serve+=' --kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_both"}'
  for i in "$prefill" "${decode[@]}"; do grep -qxF "attempt 1 at $i: $serve" "$leader_log"; done
  knows
  both_answer
  ask '{"prompt":"hello","max_tokens":5,"stream":true}' -N
  [ "$(grep -c '^data: {"text": ' <<<"$output")" = 7 ]
  [[ "$output" == *'data: [DONE]'*' 200' ]]
  ask '{"prompt":'
  [[ "$output" == '{"error": {"message": "the body is no JSON: '*' 400' ]]
  k8s_order replace serve-0-3
  ask '{"prompt":"at once","max_tokens":5}'
  [[ "$output" == *' 200' ]]
  wait_for 60 said 2 1
  pd_places
  wait_for 30 knows # nobody asked meanwhile: it was signalled
  both_answer
  said 1 3 # the other servers run on
}

@test "statefulset: its sidecar keeps /etc/hosts, too, as a root that may do nothing else" {
  k8s_mine statefulset "${hello[@]}" -e 's#^( *)- --write=openmpi:.*#&\n\1- --hosts#' \
    -e '/name: sidecar/,/startupProbe/ s#(securityContext:) .*#\1 {runAsUser: 0, runAsNonRoot: false, capabilities: {drop: [ALL]}}#'
  k8s_run train-0/train
  all_met "$logs/train-0.train.log"
  grep -q '/etc/hosts: 4 lines for 4 members' "$logs/train-2.sidecar.log"
}

@test "what the translator refuses, kubelet would not start either" {
  k8s_mine statefulset -e 's/runAsUser: 1000/runAsUser: 0/'
  run -126 k8s_run train-0/train
  [[ "$output" == *"runAsNonRoot, and the image's user is root"* ]]
  bed_teardown
  sed 's/secretName: muster-key/secretName: no-key/' -i "$BATS_TEST_TMPDIR/statefulset.yaml"
  run -126 k8s_run train-0/train
  [[ "$output" == *"Secret no-key is not there"* ]]
}

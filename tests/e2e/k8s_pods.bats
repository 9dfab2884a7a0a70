#!/usr/bin/env bats
# contrib/k8s on emulated pods: what kubectl would send is what runs, by tests/k8s/translate.

setup_file() {
  load helper
  load k8s
  [ -n "$(bed_missing)" ] || k8s_bed
}

setup() {
  load helper
  load muster
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
patient() { # ATTEMPTS
  patient=("${few[@]}" -e 's#- python3$#- /bin/sh#'
    -e "s#^( *)- /app/train.py#\1- $apps/patient.sh\n\1- \"$1\"#")
}

# ends_well POD/CONTAINER [ARG...]: it runs to exit code 0; 8 ranks of hello said so.
ends_well() {
  run -0 k8s_run "$@"
  echo "$output"
  [ "$(grep -c '^rank . of 8 on ' "$logs/${1/\//.}.log")" = 8 ]
}

# start POD/CONTAINER: in the background; returns when all ranks of attempt 1 are at work.
start() {
  leader_log=$BATS_TEST_TMPDIR/logs/${1/\//.}.log
  k8s_run "$1" >"$BATS_TEST_TMPDIR/events" 2>&1 3>&- &
  run_job=$!
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

@test "jobset: Open MPI ranks on 4 pods" {
  k8s_mine jobset "${hello[@]}"
  ends_well train-workers-0-0/train
}

@test "indexed-job: Open MPI ranks on 4 pods" {
  k8s_mine indexed-job "${hello[@]}"
  ends_well train-0/train
}

@test "mpijob: Secret, hostfile, modes and environment of mpi-operator; Open MPI ranks, no sshd" {
  k8s_mine mpijob "${hello[@]}"
  mkdir "$BATS_TEST_TMPDIR/ssh"
  ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f "$BATS_TEST_TMPDIR/ssh/ssh-privatekey"
  mv "$BATS_TEST_TMPDIR/ssh/ssh-privatekey.pub" "$BATS_TEST_TMPDIR/ssh/ssh-publickey"
  ends_well train-launcher/launcher --secret "train-ssh=$BATS_TEST_TMPDIR/ssh"
  [[ "$(cat "$logs/train-launcher.launcher.log")" != *'lets group or others'* ]]
}

# serves OVERLAY SED...: starts it; returns when the Service would send requests to the leader.
serves() {
  k8s_mine "$@"
  k8s_run serve-0/server >"$BATS_TEST_TMPDIR/events" 2>&1 3>&- &
  run_job=$!
  leader_log=$logs/serve-0.server.log
  wait_for 60 grep -q '^serve-0: ready' "$BATS_TEST_TMPDIR/events"
  wait_for 60 said 1 2
}

# said ATTEMPT N: N nodes have started in it.
said() { [ "$(grep -c "^attempt $1 at " "$leader_log")" = "$2" ]; }

@test "lws-vllm: what each node's vLLM is told, before and after its worker's pod is replaced" {
  serves lws-vllm -e "s#- vllm\$#- $apps/serve.py#"
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
  serves lws-sglang -e "s#- python3\$#- $apps/serve.py#"
  cat "$leader_log"
  local leader port
  leader=$("$podbox" ip serve-0)
  port=$(sed -n 's/.*--dist-init-addr=[^ ]*:\([0-9]*\) .*/\1/p' "$leader_log" | sort -u)
  [[ $port =~ ^[0-9]+$ ]]
  local all="-m sglang.launch_server --model-path=meta-llama/Llama-3.1-405B-Instruct-FP8 --tp=16 --dist-init-addr=$leader:$port --nnodes=2"
  grep -qxF "attempt 1 at -: $all --node-rank=0 --host=0.0.0.0 --port=8000" "$leader_log"
  grep -qxF "attempt 1 at -: $all --node-rank=1 --host=0.0.0.0 --port=8000" "$leader_log"
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

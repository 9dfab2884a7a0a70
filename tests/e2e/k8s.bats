#!/usr/bin/env bats
# contrib/k8s without a cluster: every overlay renders, is valid, and keeps the rules of its README.

setup_file() {
  load helper
  load venv
  load k8s
  local name
  k8s_need_renderer
  for name in $(overlay_names); do
    render "$overlays/$name" "$BATS_FILE_TMPDIR/$name.yaml"
  done
}

setup() {
  load helper
  load venv
  load k8s
  k8s_need_renderer
  rendered=$BATS_FILE_TMPDIR
}

need_validators() {
  local why
  why=$(k8s_make) || skip "$why"
  K8S_SCHEMAS=${MUSTER_K8S_SCHEMAS:-$MUSTER_SRCDIR/../shared/k8s-schemas}
  [ -d "$K8S_SCHEMAS" ] || { echo "# no CRD schemas in $K8S_SCHEMAS" >&3; K8S_SCHEMAS=; }
  export K8S_SCHEMAS
}

validate() { timeout 200 "$k8s_python" "$MUSTER_SRCDIR/tests/k8s/validate.py" "$@"; }

@test "the manifests are in form" {
  command -v yamllint >/dev/null || skip "yamllint is missing"
  cd "$overlays"
  yamllint --strict .
}

@test "images are named in kustomizations alone: none is left over" {
  local name
  [ "$(overlay_names | wc -l)" -ge 10 ]
  for name in $(overlay_names); do
    run ! grep -E '^ *(- )?image: [^/]*$' "$rendered/$name.yaml"
  done
}

@test "the README's own kustomization changes the images, in every overlay" {
  local name n=0
  cp -r "$overlays" "$BATS_TEST_TMPDIR/k8s"
  mkdir "$BATS_TEST_TMPDIR/k8s/mine"
  for name in $(overlay_names); do
    grep -q 'image:' "$rendered/$name.yaml" || continue # base has no pods
    n=$((n + 1))
    sed -n '/^   # mine/,/^   ```/p' "$overlays/README.md" | sed -e '/```/d' -e "s/indexed-job/$name/" \
      -e 's/^   //' >"$BATS_TEST_TMPDIR/k8s/mine/kustomization.yaml"
    run -0 render "$BATS_TEST_TMPDIR/k8s/mine"
    [[ "$output" == *'image: my.registry/muster:0.1.0'* && "$output" != *registry.example.com* ]]
    grep -q registry.example.com/train "$rendered/$name.yaml" || continue # a server's image
    [[ "$output" == *'image: my.registry/my-train:v7'* ]]
  done
  [ "$n" -ge 9 ]
}

# readme_patch N OVERLAY: with the N-th patch of the README.
readme_patch() {
  local dir=$BATS_TEST_TMPDIR/patch-$1
  mkdir "$dir"
  printf 'kind: Kustomization\nresources: [%s]\n' "$(realpath --relative-to="$dir" "$overlays/$2")" >"$dir/kustomization.yaml"
  awk -v n="$1" '/^   patches:/ { at++ } /```/ { on = 0 } /^   patches:/ && at == n { on = 1 } on { print substr($0, 4) }' \
    "$overlays/README.md" >>"$dir/kustomization.yaml"
  render "$dir"
}

@test "the README's patches: a server's model; a training program's arguments and the volume of its checkpoints" {
  run -0 readme_patch 1 lws-vllm
  [[ "$output" == *'value: Qwen/Qwen3-32B'* ]]
  run -0 readme_patch 2 lws-training
  [[ "$output" == *$'- python3\n'*$'- /app/pretrain.py\n'*$'- --checkpoints=/ckpt\n'* ]]
  [ "$(grep -c 'claimName: ckpt' <<<"$output")" = 2 ]
  [ "$(grep -c 'mountPath: /ckpt' <<<"$output")" = 2 ]
}

# shown MANIFEST EXPRESSION: of what the translator makes of it, as `m`.
shown() {
  timeout 60 "$k8s_python" "$MUSTER_SRCDIR/tests/k8s/translate/translate.py" show "$rendered/$1.yaml" |
    "$k8s_python" -c "import sys, yaml; m = yaml.safe_load(sys.stdin); p = m['pods']; print($2)"
}

@test "controllers: an MPIJob's Secret, ConfigMap, modes and environment; names and variables of the others" {
  need_validators
  [ "$(shown mpijob "list(p), m['service'], m['publishNotReadyAddresses']")" = \
    "['train-launcher', 'train-worker-0', 'train-worker-1', 'train-worker-2', 'train-worker-3'] train False" ]
  [ "$(shown mpijob "m['objects']['ConfigMap/train-config']['hostfile'].splitlines()[3]")" = \
    'train-worker-3.train.default.svc slots=8' ]
  [ "$(shown mpijob "{e['name']: e['value'] for e in p['train-launcher']['spec']['containers'][0]['env']}")" = \
    "{'K_MPI_JOB_ROLE': 'launcher', 'OMPI_MCA_orte_keep_fqdn_hostnames': 'true', 'OMPI_MCA_orte_default_hostfile': '/etc/mpi/hostfile', 'OMPI_MCA_plm_rsh_args': '-o ConnectionAttempts=10', 'OMPI_MCA_orte_set_default_slots': '8', 'NVIDIA_VISIBLE_DEVICES': '', 'NVIDIA_DRIVER_CAPABILITIES': ''}" ]
  [ "$(shown mpijob "[oct(v['secret']['defaultMode']) for v in p['train-worker-0']['spec']['volumes'] if v['name'] == 'ssh-auth'], p['train-worker-0']['spec']['restartPolicy']")" = "['0o600'] OnFailure" ]
  [ "$(shown lws-training "list(p), {e['name']: e.get('value') for e in p['train-0-3']['spec']['initContainers'][1]['env']}")" = \
    "['train-0', 'train-0-1', 'train-0-2', 'train-0-3'] {'LWS_LEADER_ADDRESS': 'train-0.train.default', 'LWS_GROUP_SIZE': '4', 'LWS_WORKER_INDEX': '3'}" ]
  [ "$(shown jobset "list(p)[3], m['service'], p['train-workers-0-3']['spec']['containers'][0]['env'][0]")" = \
    "train-workers-0-3 train {'name': 'JOB_COMPLETION_INDEX', 'value': '3'}" ]
}

@test "every object is valid, by Kubernetes' schemas and the CRDs'" {
  need_validators
  with_component rdma lws-training "$BATS_TEST_TMPDIR/rdma-lws"
  render "$BATS_TEST_TMPDIR/rdma-lws" "$rendered/lws-training-rdma.yaml"
  with_component rdma statefulset "$BATS_TEST_TMPDIR/rdma-sts"
  render "$BATS_TEST_TMPDIR/rdma-sts" "$rendered/statefulset-rdma.yaml"
  [ "$(grep -c 'rdma/hca: 1' "$rendered/lws-training-rdma.yaml")" = 2 ]
  [ "$(grep -c 'rdma/hca: 1' "$rendered/statefulset-rdma.yaml")" = 1 ]
  with_component metrics jobset "$BATS_TEST_TMPDIR/metrics"
  render "$BATS_TEST_TMPDIR/metrics" "$rendered/jobset-metrics.yaml"
  grep -q 'name: muster-metrics' "$rendered/jobset-metrics.yaml"
  validate "$rendered"/*.yaml "$overlays"/rbac*.yaml
}

@test "the validators find what is wrong: a misspelt field, a bad value, in the pods of a CRD, too" {
  need_validators
  sed 's/publishNotReadyAddresses/publishUnreadyAddresses/' "$rendered/statefulset.yaml" >"$BATS_TEST_TMPDIR/a.yaml"
  sed 's/defaultMode: 256/defaultMode: rw/' "$rendered/lws-training.yaml" >"$BATS_TEST_TMPDIR/b.yaml"
  sed 's/restartPolicy: None/restartPolicy: Nobody/' "$rendered/lws-training.yaml" >"$BATS_TEST_TMPDIR/c.yaml"
  run -1 validate "$BATS_TEST_TMPDIR"/[abc].yaml
  echo "$output"
  [[ "$output" == *"a.yaml: Service train: "*publishUnreadyAddresses* ]]
  [[ "$output" == *"b.yaml: LeaderWorkerSet train .spec.leaderWorkerTemplate.leaderTemplate: "*volumes* ]]
  [ -n "$K8S_SCHEMAS" ] || return 0
  [[ "$output" == *"spec.leaderWorkerTemplate.restartPolicy: 'Nobody' is not one of"* ]]
}

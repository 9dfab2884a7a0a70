#!/usr/bin/env bats
# contrib/k8s without a cluster: every overlay renders, is valid, and keeps the rules of its README.

setup_file() {
  load helper
  load k8s
  local name
  k8s_need_renderer
  for name in $(overlay_names); do
    render "$overlays/$name" "$BATS_FILE_TMPDIR/$name.yaml"
  done
}

setup() {
  load helper
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
  [ "$(overlay_names | wc -l)" -ge 9 ]
  for name in $(overlay_names); do
    run ! grep -E '^ *(- )?image: (muster|app)(:|$)' "$rendered/$name.yaml"
  done
}

@test "every object is valid, by Kubernetes' schemas and the CRDs'" {
  need_validators
  with_component rdma lws-training "$BATS_TEST_TMPDIR/rdma-lws"
  render "$BATS_TEST_TMPDIR/rdma-lws" "$rendered/lws-training-rdma.yaml"
  with_component rdma statefulset "$BATS_TEST_TMPDIR/rdma-sts"
  render "$BATS_TEST_TMPDIR/rdma-sts" "$rendered/statefulset-rdma.yaml"
  [ "$(grep -c 'rdma/hca: 1' "$rendered/lws-training-rdma.yaml")" = 2 ]
  [ "$(grep -c 'rdma/hca: 1' "$rendered/statefulset-rdma.yaml")" = 1 ]
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

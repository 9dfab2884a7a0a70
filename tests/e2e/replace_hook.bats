#!/usr/bin/env bats
# contrib/k8s/delete-pod-hook: deletes the pod of a lost member and no other one, against the
# emulated API server (apiserver.py).

setup() {
  load helper
  load muster
  load apiserver
  cd "$BATS_TEST_TMPDIR" || return
  server=''
}

teardown() { [ -z "$server" ] || kill "$server" 2>/dev/null || :; }

# pods: a group, a Job's pod, and another job's pod.
pods() {
  cat >api/pods.json <<'END'
[{"name": "train-1", "uid": "uid-1", "ip": "10.0.0.1", "labels": {"app": "train"}},
 {"name": "train-12", "uid": "uid-12", "ip": "10.0.0.12", "labels": {"app": "train"}},
 {"name": "work-0-x7k2p", "uid": "uid-0", "ip": "10.0.0.20"},
 {"name": "web", "uid": "uid-web", "ip": "10.0.0.99"},
 {"name": "net-a", "uid": "uid-a", "ip": "10.0.0.50"},
 {"name": "net-b", "uid": "uid-b", "ip": "10.0.0.50"}]
END
}

hook() {
  MUSTER_MEMBER=$1 MUSTER_ADDRESS=$2 run timeout 20 "$BATS_TEST_DIRNAME/../../contrib/k8s/delete-pod-hook"
}

left() { python3 -c 'import json; print(*(p["name"] for p in json.load(open("api/pods.json"))))'; }
deletes() { grep -c '^DELETE' api/log || :; }

@test "the pod at the member's address, of its name, is deleted; no other is" {
  serve /dev/null
  pods
  hook train-1.train 10.0.0.1
  echo "$output"
  [ "$status" = 0 ]
  [ "$output" = 'delete-pod-hook: ml/train-1 was deleted' ]
  [ "$(left)" = 'train-12 work-0-x7k2p web net-a net-b' ]
  hook work-0.work 10.0.0.20
  [ "$status" = 0 ]
  [ "$(left)" = 'train-12 web net-a net-b' ]
  hook train-1.train 10.0.0.1
  [ "$status" = 0 ]
  [ "$output" = 'delete-pod-hook: no pod is at 10.0.0.1 any more' ]
  MUSTER_POD_SELECTOR=app=train hook 10.0.0.12 10.0.0.12
  [ "$status" = 0 ]
  [ "$(left)" = 'web net-a net-b' ]
  [ "$(deletes)" = 3 ]
}

@test "another pod at the address, two of them, a member without a name: nothing is deleted" {
  serve /dev/null
  pods
  kept() {
    local text=$1
    shift
    hook "$@"
    [ "$status" = 1 ]
    [[ $output == *"$text"* ]]
  }
  kept 'the pod at 10.0.0.99 is web, not train-2.train: it was not deleted' train-2.train 10.0.0.99
  kept 'the pod at 10.0.0.12 is train-12, not train-1.train' train-1.train 10.0.0.12
  kept 'more than one pod is at 10.0.0.50' net-a 10.0.0.50
  kept 'MUSTER_POD_SELECTOR has to say' 10.0.0.1 10.0.0.1
  MUSTER_POD_SELECTOR=app=train hook 10.0.0.99 10.0.0.99
  [ "$status" = 0 ]
  [[ $output == *'no pod is at 10.0.0.99 any more' ]]
  rm api/pods.json
  kept "list of ml's pods was refused (403)" train-1.train 10.0.0.1
  echo wrong >account/token
  kept 'refused (401)' train-1.train 10.0.0.1
  [ "$(deletes)" = 0 ]
}

@test "a pod that took the place in between is left alone: the deletion names the uid" {
  serve /dev/null
  pods
  echo '{"train-1": "uid-new"}' >api/successors
  hook train-1.train 10.0.0.1
  [ "$status" = 0 ]
  [ "$output" = 'delete-pod-hook: ml/train-1 was replaced already' ]
  [ "$(left)" = 'train-1 train-12 work-0-x7k2p web net-a net-b' ]
  grep -q '^DELETE 409' api/log
}

@test "its manifest grants list and delete of pods alone" {
  command -v yamllint >/dev/null || skip "yamllint is missing"
  yamllint --strict "$BATS_TEST_DIRNAME/../../contrib/k8s/rbac-pods.yaml"
  [ "$(sed -n '/^rules:/,/^---/p' "$BATS_TEST_DIRNAME/../../contrib/k8s/rbac-pods.yaml" | grep -v '^---')" = 'rules:
  - apiGroups: [""]
    resources: [pods]
    verbs: [list, delete]' ]
}

#!/usr/bin/env bats
# muster replace: a member's new address in a hostfile, and in a ConfigMap through the hook
# of contrib/k8s. The API server is an emulation (apiserver.py): these tests prove what the
# hook sends, what it makes of the answers, and that the object comes out right by RFC 7386
# and the rules for resourceVersion; not that a real server's admission lets it through.

setup() {
  load helper
  load muster
  load apiserver
  cd "$BATS_TEST_TMPDIR" || return
  server=''
}

teardown() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || :
  bed_teardown
}

replace() { run --separate-stderr timeout 20 "$muster" replace "$@"; }

# ---- files --------------------------------------------------------------------------

@test "one word of the file changes, and nothing else does" {
  mkdir d
  cd d
  printf '# 10.0.0.2\r\n10.0.0.1   slots=8  # 10.0.0.2\r\n\t10.0.0.2\tslots=8\n[fd00::3] slots=8' >f
  printf '# 10.0.0.2\r\n10.0.0.1   slots=8  # 10.0.0.2\r\n\t10.0.0.9\tslots=8\n[fd00::3] slots=8' >want
  chmod 640 f
  ln -s f link
  replace 10.0.0.2 --address 10.0.0.9 --hostfile link
  [ "$status" = 0 ]
  [ "$stderr" = 'muster replace: link: 10.0.0.2 is 10.0.0.9 now' ]
  cmp f want
  [ "$(stat -c %a f)" = 640 ]
  [ -L link ]
  [ "$(ls -A)" = $'f\nlink\nwant' ] # no file is left beside it
  run --separate-stderr timeout 20 "$muster" hostfile -q --from f --to openmpi
  [ "${lines[1]}" = '10.0.0.9 slots=8' ]
}

@test "a dry run shows the line and changes nothing; the same address again is no change" {
  printf 'a slots=8\n10.0.0.2 slots=8' >f
  cp f before
  replace 10.0.0.2 --address 10.0.0.9 --hostfile f --dry-run
  [ "$status" = 0 ]
  [ "$output" = '--- f
+++ f
@@ -2 +2 @@
-10.0.0.2 slots=8
\ No newline at end of file
+10.0.0.9 slots=8
\ No newline at end of file' ]
  replace 10.0.0.2 --address 10.0.0.2 --hostfile f
  [ "$status" = 0 ]
  [ "$stderr" = 'muster replace: f: 10.0.0.2 has the address 10.0.0.2 already' ]
  cmp f before
}

# refuses CODE WORD ARG...: that code, one line that has the word, and f as before.
refuses() {
  local code=$1 word=$2
  shift 2
  replace "$@"
  echo "$stderr"
  [ "$status" = "$code" ]
  [[ "${stderr_lines[0]}" == "muster replace: "*"$word"* ]]
  [ "$output" = '' ]
  cmp f before
}

@test "what cannot be meant is refused, and the file stays" {
  printf 'train-0 slots=8\ntrain-1 slots=8\n10.0.0.3 slots=8\n' >f
  cp f before
  refuses 1 "HF_NO_SUCH_HOST: there is no host 'trani-1' in the list; near to it: train-1" \
    trani-1 --address 10.0.0.9 --hostfile f
  refuses 1 'f:3:1: HF_DUP_ADDRESS: 10.0.0.3' train-1 --address 10.0.0.3 --hostfile f
  refuses 125 'HF_BAD_ADDRESS' train-1 --address 127.0.0.1 --hostfile f
  refuses 125 'HF_BAD_ADDRESS' train-1 --address train-9 --hostfile f
  refuses 125 '--address IP is missing' train-1 --hostfile f
  refuses 125 '--hostfile FILE, or --hook PROGRAM' train-1 --address 10.0.0.9
  refuses 125 'one member at a time' train-1 train-0 --address 10.0.0.9 --hostfile f
  refuses 125 'which member?' --address 10.0.0.9 --hostfile f
  refuses 125 '--key' train-1 --address 10.0.0.9 --hostfile f --key k
  refuses 1 'PUT_NOT_FOUND' train-1 --address 10.0.0.9 --hostfile nowhere/f
  refuses 1 'PUT_FAILED' train-1 --address 10.0.0.9 --hostfile .
  refuses 1 "--hook: program no-such-hook: not found" train-1 --address 10.0.0.9 --hook no-such-hook
  printf '# written by muster-sidecar from x\ntrain-1\n' >f
  cp f before
  refuses 1 'HF_OWN_OUTPUT' train-1 --address 10.0.0.9 --hostfile f
  printf 'train-1 lots=8\n' >f
  cp f before
  refuses 1 'f:1:9: HF_UNKNOWN_KEY' train-1 --address 10.0.0.9 --hostfile f
}

@test "changes at once follow each other; who reads meanwhile has a whole file" {
  local i pids=() reader
  for ((i = 1; i <= 20; i++)); do echo "10.0.0.$i slots=8"; done >f
  while [ ! -e stop ]; do
    [ "$(wc -l <f)" = 20 ] || touch torn
  done 3>&- &
  reader=$!
  for ((i = 1; i <= 20; i++)); do
    timeout 30 "$muster" replace "10.0.0.$i" --address "10.0.1.$i" --hostfile f 2>/dev/null 3>&- &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i"; done
  touch stop
  wait "$reader"
  [ ! -e torn ]
  [ "$(sort -u f | grep -c '^10\.0\.1\.[0-9]* slots=8$')" = 20 ]
}

@test "a ConfigMap's mount is read-only: the error says where to change it" {
  bed_setup
  mkdir cm
  printf '10.0.0.3 slots=8\n' >cm/hostfile
  "$podbox" volume put group cm >/dev/null
  "$podbox" up 1 --name train --volume group:/etc/mpi >/dev/null
  run --separate-stderr timeout 20 "$podbox" exec train-0 "$muster" replace 10.0.0.3 --address 10.0.0.9 \
    --hostfile /etc/mpi/hostfile
  [ "$status" = 1 ]
  [[ "$stderr" == *"/etc/mpi/hostfile: PUT_READONLY: "*"Read-only file system"*"--hook (see contrib/k8s)"* ]]
}

# ---- the ConfigMap ------------------------------------------------------------------

hook=$BATS_TEST_DIRNAME/../../contrib/k8s/configmap-hook

# in_object EXPRESSION: of the object o, as JSON.
in_object() {
  python3 -c 'import json, sys
o = json.load(open("api/object.json"))
print(json.dumps(eval(sys.argv[1])))' "$1"
}

# hostfile_is FILE: byte for byte.
hostfile_is() {
  python3 -c 'import json, sys
sys.stdout.buffer.write(json.load(open("api/object.json"))["data"]["hostfile"].encode())' | cmp - "$1"
}

through_hook() { replace "$@" --hook "$hook"; }

@test "the hook patches one key of one ConfigMap, whatever the text holds" {
  printf '# "a" \\ \ttab \342\202\254 </script>\r\n10.0.0.3 slots=8 # "q" \\n\n10.0.0.4 slots=8' >f
  printf '# "a" \\ \ttab \342\202\254 </script>\r\n10.0.0.9 slots=8 # "q" \\n\n10.0.0.4 slots=8' >want
  serve f
  through_hook 10.0.0.3 --address 10.0.0.9
  echo "$stderr"
  [ "$status" = 0 ]
  [[ "$stderr" == *"ml/group: 10.0.0.3 is 10.0.0.9 now"* ]]
  hostfile_is want
  [ "$(in_object 'o["data"]["other"], o["metadata"]["annotations"], o["metadata"]["resourceVersion"]')" = \
    '["keep", {"owner": "us"}, "8"]' ]
  [ "$(cut -d' ' -f1-3 api/log)" = $'GET 200 -\nPATCH 200 application/merge-patch+json' ]
}

@test "a dry run through the hook patches nothing; what is so already is no patch" {
  printf '10.0.0.3 slots=8\n' >f
  serve f
  through_hook 10.0.0.3 --address 10.0.0.9 --dry-run
  [ "$status" = 0 ]
  [[ "$output" == *"+++ ml/group:hostfile"*$'\n-10.0.0.3 slots=8\n+10.0.0.9 slots=8' ]]
  through_hook 10.0.0.3 --address 10.0.0.3
  [ "$status" = 0 ]
  [ "$(cut -d' ' -f1-2 api/log)" = $'GET 200\nGET 200' ]
  hostfile_is f
}

@test "a change by somebody else in between is not lost: 409, read again, patched" {
  printf '10.0.0.3 slots=8\n10.0.0.4 slots=8\n' >f
  printf '10.0.0.9 slots=8\n10.0.0.5 slots=8\n' >want
  serve f
  echo '{"data":{"hostfile":"10.0.0.3 slots=8\n10.0.0.5 slots=8\n"}}' >api/rivals
  through_hook 10.0.0.3 --address 10.0.0.9
  [ "$status" = 0 ]
  hostfile_is want
  [ "$(cut -d' ' -f1-2 api/log | paste -sd' ')" = 'GET 200 PATCH 409 GET 200 PATCH 200' ]
}

@test "an object that changes all the time: a bounded number of tries" {
  local i
  printf '10.0.0.3 slots=8\n' >f
  serve f
  for ((i = 0; i < 9; i++)); do echo "{\"data\":{\"other\":\"$i\"}}"; done >api/rivals
  through_hook 10.0.0.3 --address 10.0.0.9
  [ "$status" = 1 ]
  [[ "$stderr" == *"changes all the time: nothing was written"* ]]
  [ "$(grep -c '^PATCH 409' api/log)" = 5 ]
  hostfile_is f
}

# hook_fails WORD: exit code 1, the word on stderr, no secret, nothing patched.
hook_fails() {
  through_hook "${@:2}"
  echo "$stderr"
  [ "$status" = 1 ]
  [[ "$stderr" == *"$1"* ]]
  [[ "$stderr$output" != *secret-token* ]]
  hostfile_is f
}

@test "what the server refuses is told in its own words" {
  printf '10.0.0.3 slots=8\n' >f
  serve f
  MUSTER_CONFIGMAP=gone hook_fails 'configmaps "gone" not found' 10.0.0.3 --address 10.0.0.9
  MUSTER_CONFIGMAP=others hook_fails '"others" is forbidden' 10.0.0.3 --address 10.0.0.9
  MUSTER_CONFIGMAP='' hook_fails 'MUSTER_CONFIGMAP names no ConfigMap' 10.0.0.3 --address 10.0.0.9
  MUSTER_CONFIGMAP_KEY=hosts hook_fails "no key 'hosts' (there: hostfile, other)" 10.0.0.3 --address 10.0.0.9
  hook_fails 'HF_NO_SUCH_HOST' 10.0.0.7 --address 10.0.0.9
  echo wrong >account/token
  hook_fails 'Unauthorized' 10.0.0.3 --address 10.0.0.9
  echo secret-token >account/token
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other \
    -keyout other.key -out account/ca.crt 2>/dev/null
  hook_fails 'gave no answer' 10.0.0.3 --address 10.0.0.9
  run grep '^PATCH' api/log
  [ "$status" = 1 ]
}

@test "an object that is no ConfigMap, or immutable, gives no patch" {
  local text
  for text in 'CM_SYNTAX:{' 'CM_NO_OBJECT:{"kind":"Secret"}' \
    'CM_NO_OBJECT:{"kind":"ConfigMap","data":{"hostfile":"a\n"}}' \
    'CM_IMMUTABLE:{"kind":"ConfigMap","immutable":true}' \
    'CM_NO_KEY:{"kind":"ConfigMap","metadata":{"resourceVersion":"1"}}'; do
    echo "${text#*:}" >cm.json
    replace a --address 10.0.0.9 --configmap cm.json
    [ "$status" = 1 ]
    [ "$output" = '' ]
    [[ "$stderr" == "muster replace: cm.json: ${text%%:*}: "* ]]
  done
}

# ---- the manifests ------------------------------------------------------------------

@test "the manifests are in form, and grant get and patch of one ConfigMap alone" {
  command -v yamllint >/dev/null || skip "yamllint is missing"
  cd "$BATS_TEST_DIRNAME/../../contrib/k8s"
  yamllint --strict ./*.yaml
  [ "$(sed -n '/^rules:/,/^---/p' rbac.yaml | grep -v '^---')" = 'rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [muster-hostfile]
    verbs: [get, patch]' ]
}

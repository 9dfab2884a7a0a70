#!/usr/bin/env bats
# muster-sidecar: /etc/hosts and hostfiles while pods are replaced, files are rewritten and
# the sidecar is killed. The cases hst-* are from tests/CASES.md.

setup() {
  load helper
  load muster
  bed_setup
  sidecar=$MUSTER_BUILDDIR/sidecar/muster-sidecar
  torn=$MUSTER_BUILDDIR/tests/hosts/torn
}

teardown() { bed_teardown; }

# in_pod POD CMD...
in_pod() { "$podbox" exec "$@"; }

# has_address POD NAME ADDRESS: what the pod's files say, without DNS.
has_address() {
  in_pod "$1" grep -qE "^$3 +([^ #]+ )*$2( |\$)" /etc/hosts
}

hosts_lines() { in_pod "$1" grep -vcE '^ *(#|$)' /etc/hosts; }

hostfile_is() { # POD TEXT, without the mark
  [ "$(in_pod "$1" tail -n +2 /tmp/hostfile)" = "$2" ]
}

# start_sidecar POD ARGS...: in the background, its log is the pod's.
start_sidecar() {
  local pod=$1
  shift
  in_pod "$pod" -d "$sidecar" "$@"
}

sidecar_pid() { "$podbox" ps "$1" | awk '/muster-sidecar/ {print $1; exit}'; }

logged() { "$podbox" logs "$1" | grep -qF -e "$2"; }

@test "a replaced pod is in every pod's hosts and hostfile, from DNS" {
  pods_up 3
  for i in 0 1 2; do
    start_sidecar "train-$i" --hosts --write openmpi:/tmp/hostfile --dns train --members 3 \
      --slots 2
  done
  for i in 0 1 2; do
    wait_for 20 has_address "train-$i" train-1.train "$(pb ip train-1)"
    wait_for 20 in_pod "train-$i" test -s /tmp/hostfile
  done
  lines=$(hosts_lines train-0)
  pb replace train-1
  ip=$(pb ip train-1)
  want="$(pb ip train-0) slots=2"$'\n'"$ip slots=2"$'\n'"$(pb ip train-2) slots=2"
  for i in 0 2; do
    wait_for 20 has_address "train-$i" train-1.train.default.svc.cluster.local "$ip"
    wait_for 20 hostfile_is "train-$i" "$want"
    in_pod "train-$i" grep -q '^127.0.0.1' /etc/hosts
  done
  [ "$(hosts_lines train-0)" = "$lines" ]
  # The names count in lookups, and no DNS is needed for them.
  pb dns stop
  [ "$(pod_lookup train-0 train-1.train)" = "$ip" ]
}

@test "a replaced pod is in hosts and hostfile, from a ConfigMap of names and of addresses" {
  printf 'train-%s.train slots=2\n' 0 1 >"$BATS_TEST_TMPDIR/hostfile"
  pods_up 2
  cp "$BATS_TEST_TMPDIR/hostfile" "$BATS_TEST_TMPDIR/cm/hostfile"
  pb volume put group "$BATS_TEST_TMPDIR/cm"
  start_sidecar train-0 --hosts --write openmpi:/tmp/hostfile --interval 0.5 \
    --hostfile /etc/muster/group/hostfile
  wait_for 20 has_address train-0 train-1 "$(pb ip train-1)"
  pb replace train-1
  wait_for 20 has_address train-0 train-1 "$(pb ip train-1)"
  wait_for 20 hostfile_is train-0 "$(pb ip train-0) slots=2"$'\n'"$(pb ip train-1) slots=2"
  # The ConfigMap changes: one more swap, seen at once.
  echo "10.1.2.3 slots=7" >"$BATS_TEST_TMPDIR/cm/hostfile"
  pb volume put group "$BATS_TEST_TMPDIR/cm"
  wait_for 20 hostfile_is train-0 "10.1.2.3 slots=7"
  # A bad one changes nothing, and is said.
  echo "10.1.2.3 lots=7" >"$BATS_TEST_TMPDIR/cm/hostfile"
  pb volume put group "$BATS_TEST_TMPDIR/cm"
  wait_for 20 logged train-0 "HF_UNKNOWN_KEY"
  hostfile_is train-0 "10.1.2.3 slots=7"
}

@test "case hst-01, case hst-05: the mounted hosts file is changed in place, five times the same" {
  pods_up 2
  inode=$(in_pod train-0 stat -c %i /etc/hosts)
  before=$(in_pod train-0 sh -c 'ls -a /etc | cksum')
  for i in 1 2 3 4 5; do
    in_pod train-0 "$sidecar" --once --hosts --pods 'train-[0-1].train'
  done
  [ "$(in_pod train-0 stat -c %i /etc/hosts)" = "$inode" ]
  [ "$(in_pod train-0 sh -c 'ls -a /etc | cksum')" = "$before" ]
  [ "$(in_pod train-0 grep -c 'BEGIN muster' /etc/hosts)" = 1 ]
  [ "$(in_pod train-0 grep -c 'train-1' /etc/hosts)" = 1 ]
}

@test "--diff prints what would change, and changes nothing" {
  pods_up 2
  before=$(in_pod train-0 cat /etc/hosts)
  run --separate-stderr -0 in_pod train-0 "$sidecar" --diff --hosts \
    --write openmpi:/tmp/hostfile --pods 'train-[0-1].train'
  grep -qE "^\+$(pb ip train-1) .*train-1.train" <<<"$output"
  grep -qxF -e "--- /tmp/hostfile" <<<"$output"
  [ "$(in_pod train-0 cat /etc/hosts)" = "$before" ]
  run ! in_pod train-0 test -e /tmp/hostfile
}

@test "case hst-08: the node's hosts file is left alone unless it is named" {
  pods_up 1
  in_pod train-0 sh -c \
    'printf "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n" >/etc/hosts'
  run -125 in_pod train-0 "$sidecar" --once --hosts --pods 'train-0.train'
  [[ "$output" == *"HOSTS_FOREIGN_FILE"*"hostNetwork"*"--hosts=/etc/hosts"* ]]
  run -0 in_pod train-0 "$sidecar" --once --hosts --write openmpi:/tmp/hostfile --pods 'train-0.train'
  [[ "$output" == *"warning: "*"HOSTS_FOREIGN_FILE"* ]]
  hostfile_is train-0 "$(pb ip train-0)"
  run ! in_pod train-0 grep muster /etc/hosts
  in_pod train-0 "$sidecar" --once --hosts=/etc/hosts --pods 'train-0.train'
  in_pod train-0 grep -q 'BEGIN muster' /etc/hosts
}

@test "case hst-09: with a read-only hosts file the hostfile is kept" {
  pods_up 2
  nsenter -t "$(pb pid train-0)" -m mount -o remount,bind,ro /etc/hosts
  run -0 in_pod train-0 "$sidecar" --once --hosts --write openmpi:/tmp/hostfile \
    --pods 'train-[0-1].train'
  [ "$(grep -c 'HOSTS_READONLY' <<<"$output")" = 1 ]
  hostfile_is train-0 "$(pb ip train-0)"$'\n'"$(pb ip train-1)"
  run -125 in_pod train-0 "$sidecar" --once --hosts --pods 'train-[0-1].train'
  [[ "$output" == *"HOSTS_READONLY"* ]]
}

@test "not root, read-only root file system: hostfiles are kept" {
  pods_up 2 --user 12345:234
  nsenter -t "$(pb pid train-0)" -m mount -o remount,ro /
  run ! in_pod train-0 touch /var/tmp/x
  [[ "$output" == *"ead-only"* ]]
  in_pod train-0 "$sidecar" --once --write openmpi:/dev/shm/hostfile --pods 'train-[0-1].train'
  [ "$(in_pod train-0 tail -n +2 /dev/shm/hostfile)" = "$(pb ip train-0)"$'\n'"$(pb ip train-1)" ]
  run -125 in_pod train-0 "$sidecar" --once --hosts --pods 'train-[0-1].train'
  [[ "$output" == *"HOSTS_READONLY"*"ermission denied"* ]]
  run -125 in_pod train-0 "$sidecar" --once --write openmpi:/etc/muster/group/hostfile --pods 'train-0.train'
  [[ "$output" == *"OUT_READONLY"*"emptyDir"* ]]
}

@test "a second writer is refused; SIGTERM ends at once; kill -9 leaves no lock" {
  pods_up 2
  start_sidecar train-0 --hosts --write openmpi:/tmp/hostfile --log json --pods 'train-[0-1].train'
  wait_for 20 has_address train-0 train-1 "$(pb ip train-1)"
  run -125 in_pod train-0 "$sidecar" --once --hosts --pods 'train-0.train'
  [[ "$output" == *"HOSTS_BUSY"* ]]
  run -125 in_pod train-0 "$sidecar" --once --write openmpi:/tmp/hostfile --pods 'train-0.train'
  [[ "$output" == *"OUT_BUSY"* ]]
  pb logs train-0 | grep -qE '^\{"time":"[0-9T:.-]+Z","level":"info","program":"muster-sidecar","text":".*"\}$'
  pid=$(sidecar_pid train-0)
  kill -TERM "$pid"
  wait_for 4 gone "$pid"
  has_address train-0 train-1 "$(pb ip train-1)"
  start_sidecar train-0 --hosts --pods 'train-[0-1].train'
  wait_for 20 sh -c "[ -n \"\$('$podbox' ps train-0 | grep muster-sidecar)\" ]"
  kill -KILL "$(sidecar_pid train-0)"
  in_pod train-0 "$sidecar" --once --hosts --pods 'train-[0-1].train'
}

@test "the block comes back after a foreign rewrite; foreign lines are never touched" {
  pods_up 2
  start_sidecar train-0 --hosts --pods 'train-[0-1].train'
  wait_for 20 has_address train-0 train-1 "$(pb ip train-1)"
  in_pod train-0 sh -c 'echo "10.9.9.9 added" >>/etc/hosts'
  pb replace train-1
  wait_for 20 has_address train-0 train-1 "$(pb ip train-1)"
  has_address train-0 added 10.9.9.9
  in_pod train-0 sh -c 'printf "127.0.0.1 localhost\n10.8.8.8 other\n" >/etc/hosts'
  wait_for 5 has_address train-0 train-1 "$(pb ip train-1)"
  [ "$(in_pod train-0 head -2 /etc/hosts)" = $'127.0.0.1 localhost\n10.8.8.8 other' ]
}

@test "case hst-12: with a sidecar in each pod every pod has the whole table of names" {
  pods_up 3
  for i in 0 1 2; do
    in_pod "train-$i" "$sidecar" --once --hosts --members 3 --dns train
  done
  pb dns stop
  for i in 0 1 2; do
    for k in 0 1 2; do
      [ "$(pod_lookup "train-$i" "train-$k.train")" = "$(pb ip "train-$k")" ]
    done
  done
}

@test "case hst-13: the own name is never needed" {
  pods_up 1
  pb dns stop
  in_pod train-0 sh -c 'echo "127.0.0.1 localhost" >/etc/hosts'
  run ! in_pod train-0 getent hosts train-0
  in_pod train-0 timeout 60 "$muster" run -n 2 true
}

# ---- without pods ---------------------------------------------------------------

@test "torn reads: readers without pause, changes, foreign rewrites" {
  # The long form is the one of the issue: MUSTER_LONG=1.
  if [ -n "${MUSTER_LONG:-}" ]; then changes=100000 rewrites=100 limit=1800; else
    changes=2000 rewrites=5 limit=120
  fi
  run -0 timeout "$limit" "$torn" "$BATS_TEST_TMPDIR/hosts" "$changes" "$rewrites"
  echo "$output" | tee "${MUSTER_REPORT:-/dev/null}"
  [[ "$output" == *"lost 0 torn 0"* ]]
  [ "$(sed -n 's/^changes.* lookups \([0-9]*\).*/\1/p' <<<"$output")" -gt 100 ]
  [ "$(sed -n 's/^back after us: median \([0-9]*\).*/\1/p' <<<"$output")" -lt 100000 ]
}

# Two states of a group of 600 names; the sidecar finds the addresses in the machine's hosts
# file, in a namespace where that is ours and where there is no network.
two_states() {
  local i
  for s in a b; do
    : >"$BATS_TEST_TMPDIR/names.$s"
    for ((i = 0; i < 600; i++)); do
      if [ "$s" = a ]; then echo "10.1.$((i / 250)).$((i % 250 + 1)) n$i"; else
        echo "10.222.$((100 + i / 250)).$((i % 250 + 1)) n$i"; fi
    done >>"$BATS_TEST_TMPDIR/names.$s"
  done
  awk '{print $2}' "$BATS_TEST_TMPDIR/names.a" >"$BATS_TEST_TMPDIR/source"
  mkdir "$BATS_TEST_TMPDIR/out"
  printf '127.0.0.1 localhost\n' >"$BATS_TEST_TMPDIR/hosts"
}

# bring STATE [TIMEOUT-ARGS...]: run the sidecar towards a state.
bring() {
  local state=$1
  shift
  # shellcheck disable=SC2016  # expanded inside
  timeout 60 unshare -mn sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh \
    "$BATS_TEST_TMPDIR/names.$state" "$@" "$sidecar" --once --wait 20 \
    --hosts="$BATS_TEST_TMPDIR/hosts" --write "openmpi:$BATS_TEST_TMPDIR/out/hostfile" \
    --hostfile "$BATS_TEST_TMPDIR/source"
}

# Each line of the block is that of the one state or of the other, and none is missing; a
# member can have both lines when the old one was still to be retired.
lines_are_whole() {
  awk -v dir="$BATS_TEST_TMPDIR" '
    FILENAME != dir "/hosts" { good[$1 " " $2]; next }
    /^#/ || NF == 0 || $2 == "localhost" { next }
    NF != 2 || !($1 " " $2 in good) { print "bad: " $0; bad = 1 }
    { n[$2]++ }
    END { for (k in n) if (n[k] > 2) { print k " " n[k] " times"; bad = 1 }
          if (length(n) != 600) { print length(n) " names"; bad = 1 }
          exit bad }' "$BATS_TEST_TMPDIR/names.a" "$BATS_TEST_TMPDIR/names.b" "$BATS_TEST_TMPDIR/hosts"
}

@test "a full file system leaves whole lines, and says so" {
  two_states
  # shellcheck disable=SC2016  # expanded inside
  run -1 timeout 60 unshare -mn sh -c 'mount --bind "$1/names.a" /etc/hosts &&
    mount -t tmpfs -o size=12k none "$1/out" && cp "$1/hosts" "$1/out/hosts" && {
      "$2" --once --wait 0.5 --hosts="$1/out/hosts" --hostfile "$1/source"
      rc=$?
      cp "$1/out/hosts" "$1/hosts"
      exit "$rc"
    }' sh "$BATS_TEST_TMPDIR" "$sidecar"
  [ "$(grep -c 'HOSTS_NO_SPACE' <<<"$output")" = 1 ]
  [[ "$output" == *"hosts is not written yet"* ]]
  head -1 "$BATS_TEST_TMPDIR/hosts" | grep -qx '127.0.0.1 localhost'
  [ "$(grep -vcE '^#|^127|^10[0-9.]+ +n[0-9]+ *$' "$BATS_TEST_TMPDIR/hosts")" = 0 ]
}

@test "kill -9 at random moments leaves the old or the new content" {
  kills=20 hits=0 state=a
  [ -z "${MUSTER_LONG:-}" ] || kills=100
  two_states
  bring a
  cp "$BATS_TEST_TMPDIR/out/hostfile" "$BATS_TEST_TMPDIR/hostfile.a"
  start=$(ms)
  bring b
  span=$(($(ms) - start + 10))
  cp "$BATS_TEST_TMPDIR/out/hostfile" "$BATS_TEST_TMPDIR/hostfile.b"
  run ! cmp -s "$BATS_TEST_TMPDIR/hostfile.a" "$BATS_TEST_TMPDIR/hostfile.b"
  for ((i = 0; i < kills; i++)); do
    at=$((RANDOM % span + 1))
    printf -v after '%d.%03d' $((at / 1000)) $((at % 1000))
    start=$(ms)
    bring "$state" timeout --foreground --preserve-status -s KILL "$after" && rc=0 || rc=$?
    [ "$rc" = 0 ] || [ "$rc" = 137 ]
    # The machine may have been busy before: moments are drawn in what the last whole run took.
    if [ "$rc" = 0 ]; then span=$(($(ms) - start + 10)); else hits=$((hits + 1)); fi
    lines_are_whole
    cmp -s "$BATS_TEST_TMPDIR/out/hostfile" "$BATS_TEST_TMPDIR/hostfile.a" ||
      cmp "$BATS_TEST_TMPDIR/out/hostfile" "$BATS_TEST_TMPDIR/hostfile.b"
    [ "$rc" = 137 ] || { [ "$state" = a ] && state=b || state=a; }
  done
  echo "killed $hits of $kills"
  [ "$hits" -gt 0 ]
  bring a
  [ "$(grep -c '10\.222' "$BATS_TEST_TMPDIR/hosts")" = 0 ]
  cmp "$BATS_TEST_TMPDIR/out/hostfile" "$BATS_TEST_TMPDIR/hostfile.a"
  [ "$(find "$BATS_TEST_TMPDIR/out" -name '*.new')" = "" ]
}

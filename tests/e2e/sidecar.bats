#!/usr/bin/env bats
# muster-sidecar as a program: probes and metrics, --on-change, its log, how it ends. What it
# writes is in hosts.bats.

setup() {
  load helper
  load muster
  bed_setup
  sidecar=$MUSTER_BUILDDIR/sidecar/muster-sidecar
}

teardown() {
  [ -z "${local_pid:-}" ] || kill -KILL "$local_pid" 2>/dev/null || :
  bed_teardown
}

# in_pod POD CMD...
in_pod() { "$podbox" exec "$@"; }

# start_sidecar POD ARGS...: in the background, its log is the pod's.
start_sidecar() {
  local pod=$1
  shift
  in_pod "$pod" -d "$sidecar" "$@"
}

sidecar_pid() { "$podbox" ps "$1" | awk '/muster-sidecar/ {print $1; exit}'; }

# get POD ADDRESS PATH: what port 9400 there answers to this pod.
get() {
  # shellcheck disable=SC2016  # expanded inside
  in_pod "$1" timeout 10 bash -c \
    'exec 3<>"/dev/tcp/$1/9400" && printf "GET %s HTTP/1.1\r\nHost: x\r\n\r\n" "$2" >&3 && cat <&3' \
    bash "$2" "$3"
}

answers() { # STATUS POD ADDRESS PATH
  get "${@:2}" | head -1 | grep -q "^HTTP/1.1 $1 "
}

# metric POD NAME: its value, from inside the pod.
metric() { get "$1" 127.0.0.1 /metrics | awk -v name="$2" '$1 == name {print $2}'; }

metric_is() { # POD NAME AWK-CONDITION ON v
  metric "$1" "$2" | awk "{v = \$1; found = 1} END {exit !(found && v $3)}"
}

@test "ready once the source was read, whoever is there; alive all the time" {
  pods_up 2
  pb dns silence
  start_sidecar train-0 --listen 0.0.0.0:9400 --dns train --members 5 \
    --hosts --write openmpi:/tmp/hostfile
  ip=$(pb ip train-0)
  # As kubelet does it: from outside, at the pod's address.
  wait_for 20 answers 200 train-1 "$ip" /healthz
  wait_for 20 metric_is train-0 'muster_sidecar_dns_answers_total{status="timeout"}' '> 0'
  answers 503 train-1 "$ip" /readyz
  [[ "$(get train-1 "$ip" /readyz)" == *"the source was not read yet"* ]]
  pb dns start
  wait_for 30 answers 200 train-1 "$ip" /readyz
  wait_for 20 metric_is train-0 muster_sidecar_members_with_address '== 2'
  # Three of five are missing: the hostfile waits, the pod does not.
  [ "$(metric train-0 'muster_sidecar_file_current{file="/tmp/hostfile"}')" = 0 ]
  [ "$(metric train-0 'muster_sidecar_file_current{file="/etc/hosts"}')" = 1 ]
  metric_is train-0 'muster_sidecar_file_writes_total{file="/etc/hosts"}' '> 0'
  metric_is train-0 'muster_sidecar_dns_answers_total{status="ok"}' '> 0'
  metric_is train-0 muster_sidecar_source_age_seconds '< 20'
  answers 404 train-1 "$ip" /
  # DNS falls silent: still ready, with what was known.
  pb dns silence
  before=$(metric train-0 'muster_sidecar_dns_answers_total{status="timeout"}')
  wait_for 20 metric_is train-0 'muster_sidecar_dns_answers_total{status="timeout"}' "> $before"
  answers 200 train-1 "$ip" /readyz
  [ "$(metric train-0 muster_sidecar_members)" = 2 ]
}

@test "ready with a launcher's roll, whatever the source does, also after the job" {
  pods_up 2
  pb dns silence
  in_pod train-0 mkdir /run/muster
  start_agents 2
  start_sidecar train-0 --listen 127.0.0.1:9400 --write openmpi:/run/muster/hostfile --dns train
  wait_for 20 answers 503 train-0 127.0.0.1 /readyz
  # shellcheck disable=SC2016  # expanded by the rank
  lead timeout 60 "$muster" run --host "$(pb ip train-0):1,$(pb ip train-1):1" --pmi none \
    sh -c '[ "$MUSTER_NODE_RANK" = 1 ] || until [ -e /tmp/stop ]; do sleep 0.1; done' 3>&- &
  wait_for 20 answers 200 train-0 127.0.0.1 /readyz
  metric_is train-0 muster_sidecar_source_followed '== 0'
  in_pod train-0 touch /tmp/stop
  wait_for 20 metric_is train-0 muster_sidecar_source_followed '== 1'
  answers 200 train-0 127.0.0.1 /readyz
  wait $!
}

@test "a Service without pods is an answer; a file that cannot be written is not ready" {
  pods_up 1 --not-ready
  in_pod train-0 mkdir /tmp/out
  nsenter -t "$(pb pid train-0)" -m mount -t tmpfs -o size=4k none /tmp/out
  start_sidecar train-0 --listen 9400 --dns train --write openmpi:/tmp/out/hostfile
  wait_for 20 answers 200 train-0 127.0.0.1 /readyz
  [ "$(metric train-0 muster_sidecar_members)" = 0 ]
  # The directory is full: the old file stays, and it is told.
  in_pod train-0 sh -c 'dd if=/dev/zero of=/tmp/out/fill bs=4k count=1 2>&1'
  pb ready train-0
  wait_for 30 answers 503 train-0 127.0.0.1 /readyz
  [[ "$(get train-0 127.0.0.1 /readyz)" == *"/tmp/out/hostfile cannot be written"* ]]
  metric_is train-0 'muster_sidecar_file_failures_total{file="/tmp/out/hostfile"}' '> 0'
  in_pod train-0 rm /tmp/out/fill
  wait_for 20 answers 200 train-0 127.0.0.1 /readyz
  in_pod train-0 grep -qxF "$(pb ip train-0)" /tmp/out/hostfile
}

@test "pages are of the own pod unless an address is given; not root, read-only root" {
  pods_up 2 --user 12345:234
  nsenter -t "$(pb pid train-0)" -m mount -o remount,ro /
  start_sidecar train-0 --listen 9400 --pods 'train-[0-1].train' --write openmpi:/dev/shm/hostfile
  wait_for 20 answers 200 train-0 127.0.0.1 /readyz
  run ! get train-1 "$(pb ip train-0)" /readyz
  [[ "$output" == *"refused"* ]]
  [ "$(in_pod train-0 tail -n +2 /dev/shm/hostfile)" = "$(pb ip train-0)"$'\n'"$(pb ip train-1)" ]
  metric_is train-0 muster_sidecar_members '== 2'
  run -125 in_pod train-0 "$sidecar" --listen 127.0.0.1:9400 --pods train-0.train \
    --write openmpi:/dev/shm/other
  [[ "$output" == *"cannot listen at 127.0.0.1:9400"*"in use"* ]]
}

# put_program POD TEXT: /tmp/program there.
put_program() {
  # shellcheck disable=SC2016  # expanded inside
  in_pod "$1" sh -c 'printf "#!/bin/sh\n%s\n" "$1" >/tmp/program && chmod 755 /tmp/program' sh "$2"
}

@test "--on-change gets the difference after the files were written" {
  pods_up 2
  put_program train-0 'cat >>/tmp/seen; grep -v "^#" /etc/hosts | grep -c train-1 >>/tmp/lines; tail -n +2 /tmp/hostfile >/tmp/copy'
  start_sidecar train-0 --listen 9400 --hosts --write openmpi:/tmp/hostfile --dns train \
    --members 2 --on-change /tmp/program
  old=$(pb ip train-1)
  wait_for 20 in_pod train-0 test -s /tmp/copy
  in_pod train-0 cat /tmp/seen | python3 -c '
import json, sys
first = json.loads(sys.stdin.readline())
assert [m["name"] for m in first["added"]] == ["train-0.train", "train-1.train"], first
assert first["removed"] == first["changed"] == [] and first["members"] == 2, first'
  pb replace train-1
  new=$(pb ip train-1)
  wait_for 20 in_pod train-0 grep -qxF "$new" /tmp/copy
  in_pod train-0 tail -n 1 /tmp/seen | python3 -c '
import json, sys
last = json.loads(sys.stdin.readline())
assert last["changed"] == [{"name": "train-1.train", "old": sys.argv[1], "new": sys.argv[2]}], last
assert last["added"] == last["removed"] == [], last' "$old" "$new"
  run ! in_pod train-0 grep -v '^1$' /tmp/lines
  [ "$(metric train-0 muster_sidecar_hook_failures_total)" = 0 ]
  metric_is train-0 muster_sidecar_hook_runs_total '> 1'
}

# hook_pid POD: of what the program has started.
hook_pid() { "$podbox" ps "$1" | awk '/sleep 4242/ {print $1; exit}'; }

@test "SIGTERM ends it at once, with the program of --on-change; so does SIGKILL" {
  pods_up 1
  put_program train-0 'trap "" TERM; exec sleep 4242'
  for signal in TERM KILL; do
    start_sidecar train-0 --write openmpi:/tmp/hostfile --pods train-0.train --on-change /tmp/program
    wait_for 20 sh -c "[ -n \"\$('$podbox' ps train-0 | grep 'sleep 4242')\" ]"
    pid=$(sidecar_pid train-0) program=$(hook_pid train-0)
    start=$(ms)
    kill -"$signal" "$pid"
    wait_for 20 gone "$pid"
    echo "$signal: $(($(ms) - start)) ms"
    wait_for 20 gone "$program"
  done
}

@test "SIGTERM ends it at once while DNS is silent" {
  pods_up 1
  pb dns silence
  for mode in --once --wait=300; do
    start_sidecar train-0 "$mode" --write openmpi:/tmp/hostfile --dns train -v
    wait_for 20 sh -c "[ -n \"\$('$podbox' ps train-0 | grep muster-sidecar)\" ]"
    pid=$(sidecar_pid train-0)
    wait_for 20 grep -q 'SigCgt:.*[4-7c-f]...$' "/proc/$pid/status" # its handlers are there
    kill -TERM "$pid"
    wait_for 5 gone "$pid"
  done
}

@test "--once needs no agent, and names who is missing" {
  pods_up 2
  run -0 in_pod train-0 "$sidecar" --once --wait 20 --hosts --members 2 --dns train
  in_pod train-0 grep -q "$(pb ip train-1) .*train-1" /etc/hosts
  run -1 in_pod train-0 "$sidecar" --once --wait 0.5 --write openmpi:/tmp/h --members 3 --dns train
  [[ "$output" == *"2 members of 3 are there"* ]]
  run -1 in_pod train-0 "$sidecar" --once --wait 0.5 --write openmpi:/tmp/h --pods 'train-[0,7].train'
  [[ "$output" == *"train-7.train has no address: NXDOMAIN"* ]]
  run -1 in_pod train-0 "$sidecar" --once --wait 0.5 --write openmpi:/tmp/h --hostfile /tmp/no/such
  [[ "$output" == *"/tmp/no/such: HF_NOT_FOUND"*"it is waited for"* ]]
}

# ---- without pods ---------------------------------------------------------------

# start_here ARGS...: on this machine; its log is $log. Sets local_pid.
start_here() {
  log=$BATS_TEST_TMPDIR/log
  "$sidecar" "$@" >"$log" 2>&1 3>&- &
  local_pid=$!
}

@test "every line of the JSON log is JSON with the same keys, whatever is in it" {
  command -v python3 >/dev/null || skip "python3 is missing"
  source=$BATS_TEST_TMPDIR/$'h\xffo"st\\f'
  echo 10.0.0.1 >"$source"
  printf '\377 "\\\001\033[1m\n' >"$BATS_TEST_TMPDIR/printed"
  printf '#!/bin/sh\ncat "%s/printed"\nexit 3\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/program"
  chmod 755 "$BATS_TEST_TMPDIR/program"
  start_here --log json -v --hostfile "$source" --write "openmpi:$BATS_TEST_TMPDIR/out" \
    --on-change "$BATS_TEST_TMPDIR/program"
  wait_for 20 grep -q 'exit code 3' "$log"
  echo '10.0.0.2 lots=1' >"$source"
  wait_for 20 grep -q 'HF_UNKNOWN_KEY' "$log"
  kill -TERM "$local_pid"
  wait_for 20 gone "$local_pid"
  python3 - "$log" <<'END'
import json, re, sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
assert len(lines) > 5, lines
for line in lines:
    entry = json.loads(line)
    assert list(entry) == ["time", "level", "program", "text"], line
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"]), line
    assert entry["level"] in ("error", "warning", "info", "debug"), line
    assert entry["program"] == "muster-sidecar" and entry["text"], line
assert any("\ufffd \"\\\x01\x1b[1m" in json.loads(line)["text"] for line in lines), lines
END
}

@test "without inotify files are polled, which is said once" {
  echo 10.0.0.1 >"$BATS_TEST_TMPDIR/source"
  printf '127.0.0.1 localhost\n' >"$BATS_TEST_TMPDIR/hosts"
  log=$BATS_TEST_TMPDIR/log
  # A user namespace has a limit of its own.
  # shellcheck disable=SC2016  # expanded inside
  unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"' sh \
    "$sidecar" --hostfile "$BATS_TEST_TMPDIR/source" --interval 0.1 \
    --hosts="$BATS_TEST_TMPDIR/hosts" --write "openmpi:$BATS_TEST_TMPDIR/out" >"$log" 2>&1 3>&- &
  local_pid=$!
  wait_for 20 grep -qx 10.0.0.1 "$BATS_TEST_TMPDIR/out" || { cat "$log"; return 1; }
  echo 10.0.0.2 >"$BATS_TEST_TMPDIR/source"
  wait_for 20 grep -qx 10.0.0.2 "$BATS_TEST_TMPDIR/out"
  [ "$(grep -c 'fs.inotify.max_user_instances' "$log")" = 1 ]
  [ "$(grep -c 'warning' "$log")" = 1 ]
}

@test "what makes no sense is refused with one error" {
  cd "$BATS_TEST_TMPDIR"
  echo 10.0.0.1 >source
  refused() { # TEXT ARGS...
    run -125 "$sidecar" --hostfile source --write openmpi:out "${@:2}"
    [[ "$output" == *"$1"* ]] || { echo "$output"; return 1; }
  }
  refused '--listen: http is no place to listen at' --listen http
  refused '0.0.0.0:9400' --listen ::1:80
  refused '--listen has no use with --once' --listen 9400 --once
  refused '--on-change has no use with --diff' --on-change true --diff
  refused '--on-change ./no/such' --on-change ./no/such
  refused '--on-change-timeout 0' --on-change true --on-change-timeout 0
}

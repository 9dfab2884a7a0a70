#!/usr/bin/env bats
# How an attempt ends: the pre-stop signal for a last checkpoint, the proof that nothing is left, what cannot
# be ended, and how long a member that is out of reach is waited for.

setup() {
  load helper
  load muster
  bed_setup
  out=$BATS_TEST_TMPDIR/out
  hung=''
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || { cat "$out"; lead tail -n 40 /tmp/events; } || true
  [ -z "$hung" ] || fsfreeze -u "$hung" || true
  bed_teardown
  [ -z "$hung" ] || wait_for 20 umount "$hung"
}

# start N RUN-OPTIONS...: a job with restarts on N pods, a rank on each but the spares.
start() {
  local n=$1
  shift
  lead timeout 100 "$muster" run --on-failure restart --healthy 0 --same-failures 0 --grace 1 --pmi none \
    --pods "train-[0-$((n - 1))].train" --slots 1 --events /tmp/events "$@" >"$out" 2>&1 3>&- &
  job=$!
}

said() { wait_for 30 grep -qx "$1" "$out"; }
events() { lead grep -c "\"event\":\"$1\"" /tmp/events || true; }
agent_pid() { pids_of "$1" 'musterd$' | head -1; }
rank_pid() { pids_of "$1" 'rank-script' 'muster run' | head -1; }

# field EVENT EXPRESSION: of the last such event, `e`.
field() {
  lead cat /tmp/events | python3 -c '
import json, sys
e = [json.loads(l) for l in sys.stdin]
e = [x for x in e if x["event"] == sys.argv[1]][-1]
print(eval(sys.argv[2]))' "$1" "$2"
}

@test "--pre-stop-signal: a last checkpoint where all ranks can make one, bounded where it hangs" {
  agents_up 3
  cat >"$BATS_TEST_TMPDIR/cm/rank-script" <<'SCRIPT'
saved() { [ "$MUSTER_ATTEMPT$RANK" != 40 ] || sleep 0.5; sleep 0.2; echo "attempt $MUSTER_ATTEMPT: rank $RANK saved"; exit 0; }
hang() { echo "attempt $MUSTER_ATTEMPT: rank $RANK hangs"; while :; do sleep 0.05; done; }
trap "[ $MUSTER_ATTEMPT = 3 ] && hang; saved" USR1
trap 'echo "attempt $MUSTER_ATTEMPT: rank $RANK told to end"; exit 1' TERM
echo "attempt $MUSTER_ATTEMPT: rank $RANK on $(hostname)"
[ "$MUSTER_ATTEMPT" = 5 ] || while :; do sleep 0.05; done
SCRIPT
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  start 3 --spares 1 --pre-stop-signal USR1 --pre-stop-grace 2 bash /etc/muster/group/rank-script
  said 'attempt 1: rank 1 on train-1'
  said 'attempt 1: rank 0 on train-0'
  lead "$muster" replace train-1 --reason test
  said 'attempt 2: rank 1 on train-2'
  said 'attempt 2: rank 0 on train-0'
  [ "$(grep -c '^attempt 1: rank [01] saved$' "$out")" = 2 ]
  [ "$(grep -c 'told to end' "$out")" = 0 ]
  [ "$(field pre-stop 'e["attempt"], e["signal"], e["bound"]')" = "(1, 'USR1', 2.0)" ]
  [ "$(field stopped 'e["killed"], e["processes"], e["findings"], e["seconds"] < 2')" = '(0, [], [], True)' ]

  kill -KILL "$(rank_pid train-2)" # the other rank would wait for it
  said 'attempt 2: rank 0 told to end'
  said 'attempt 3: rank 1 on train-2'
  said 'attempt 3: rank 0 on train-0'
  [ "$(grep -c '^attempt 2: .* saved$' "$out")" = 0 ]
  [ "$(events pre-stop)" = 1 ]

  kill -KILL "$(agent_pid train-1)"
  "$podbox" exec train-1 -d "$musterd"
  wait_for 20 eval '[ "$(lead grep "\"attached\"" /tmp/events | grep -c train-1)" = 2 ]'
  lead "$muster" replace train-2 --reason test
  wait_for 20 eval 'lead "$muster" status | grep -q "waiting .*last checkpoint on .*--pre-stop-signal"'
  said 'attempt 4: rank 1 on train-1'
  said 'attempt 4: rank 0 on train-0'
  [ "$(grep -c '^attempt 3: rank [01] hangs$' "$out")" = 2 ]
  [ "$(field stopped '2 <= e["seconds"] < 5')" = True ] # then SIGTERM ended them

  kill -TERM "$(agent_pid train-1)" # as when its pod is evicted
  said 'attempt 4: rank 1 saved'
  said 'attempt 4: rank 0 saved'
  wait_for 20 eval '[ -z "$(agent_pid train-1)" ]'
  "$podbox" exec train-1 -d "$musterd"
  ends_within 30 "$job"
  [ "$code" = 0 ]
  [ "$(events pre-stop)" = 3 ]

  run -125 "$muster" run --pre-stop-signal KILL true
  [[ $output == *'--pre-stop-signal KILL: give the name or number of a signal'* ]]
}

@test "a member is lost in the midst of the last checkpoint, star and tree: nobody waits for it any longer" {
  local fanout i
  agents_up 4
  cat >"$BATS_TEST_TMPDIR/cm/rank-script" <<'SCRIPT'
trap 'echo "attempt $MUSTER_ATTEMPT: rank $RANK saves"; while :; do sleep 0.05; done' USR1
trap 'echo "attempt $MUSTER_ATTEMPT: rank $RANK told to end"; exit 1' TERM
echo "attempt $MUSTER_ATTEMPT: rank $RANK on $(hostname)"
[ "$MUSTER_ATTEMPT" = 2 ] || while :; do sleep 0.05; done
SCRIPT
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  for fanout in 64 1; do
    lead rm -f /tmp/events
    start 4 --fanout $fanout --pre-stop-signal USR1 --pre-stop-grace 90 bash /etc/muster/group/rank-script
    for i in 0 1 2 3; do said "attempt 1: rank $i on train-$i"; done
    lead "$muster" replace train-3 --reason test
    for i in 0 1 2 3; do said "attempt 1: rank $i saves"; done
    kill -KILL "$(agent_pid train-1)" # with fan-out 1 the others are below it
    said 'attempt 1: rank 0 told to end'
    [ $fanout = 1 ] || said 'attempt 1: rank 2 told to end'
    [ -z "$(grep '^attempt 2' "$out")" ] # train-3 is to be another agent
    "$podbox" exec train-1 -d "$musterd"
    kill -KILL "$(agent_pid train-3)"
    "$podbox" exec train-3 -d "$musterd"
    for i in 0 1 2 3; do said "attempt 2: rank $i on train-$i"; done
    ends_within 30 "$job"
    [ "$code" = 0 ]
    [ "$(events pre-stop)" = 1 ]
    [ "$(field pre-stop 'e["bound"]')" = 90.0 ]
    wait_for 10 nothing_left 4
  done
}

# What a rank runs: a process that leaves it holds the master port, in attempt 1.
holder='
import os, socket, sys, time
port = int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    if os.environ["MUSTER_ATTEMPT"] == "1":
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            s = socket.socket()
            s.bind(("", port))
            s.listen()
            print("held", os.getpid(), flush=True)
            time.sleep(1000)
    print("attempt", os.environ["MUSTER_ATTEMPT"], "port", port, flush=True)
if os.environ["MUSTER_ATTEMPT"] != "3":
    time.sleep(1000)
'

@test "the proof: a daemon that held the port, temporary files; who else holds the port is named" {
  agents_up 2
  start 2 bash -c 'exec -a rank-script python3 -c "$0"' "$holder"
  said 'attempt 1 port .*'
  said 'held .*'
  kill -KILL "$(rank_pid train-1)"
  said 'attempt 2 port .*'
  [ "$(field stopped 'e["findings"]')" = '[]' ]
  [ "$(lead grep -c 'MASTER_PORT' /tmp/events)" = 0 ]
  for i in 0 1; do [ "$("$podbox" exec "train-$i" sh -c 'ls -d /tmp/muster-* | wc -l')" = 1 ]; done
  port=$(sed -n 's/^attempt 2 port //p' "$out")
  "$podbox" exec train-0 -d python3 -c "
import socket, time
s = socket.socket()
s.bind(('', $port))
s.listen()
time.sleep(1000)"
  wait_for 20 lead bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
  kill -KILL "$(rank_pid train-1)"
  said 'attempt 3 port .*'
  grep -qE "^muster: warning: member train-0.*: port $port, .*, is held by process [0-9]+ \(python3\)" "$out"
  ends_within 30 "$job"
  [ "$code" = 0 ]
  [ "$(sed -n 's/^attempt . port //p' "$out" | sort -u | wc -l)" = 3 ]
  for i in 0 1; do wait_for 5 "$podbox" exec "train-$i" sh -c '! ls -d /tmp/muster-*'; done
}

@test "the proof: shared memory of MPI ranks that were killed" {
  agents_up 2
  lead timeout 100 "$muster" run --on-failure restart --healthy 0 --grace 1 --pods 'train-[0-1].train' --slots 2 \
    --events /tmp/events bash -c "[ \$MUSTER_ATTEMPT = 4 ] || exec $mpi/hang" >"$out" 2>&1 3>&- &
  job=$!
  for attempt in 1 2 3; do
    wait_for 60 ranks_running $((attempt * 4))
    "$podbox" exec train-1 sh -c 'ls /dev/shm | grep -q .' # there is something to remove
    kill -KILL "$(pids_of train-1 'tests/mpi/hang$' 'muster run' | head -1)"
  done
  ends_within 60 "$job"
  [ "$code" = 0 ]
  for i in 0 1; do [ -z "$("$podbox" exec "train-$i" ls -A /dev/shm)" ]; done
}

# all_findings: of each proof, in turn: the member and what was found.
all_findings() {
  lead cat /tmp/events | python3 -c '
import json, sys
for e in map(json.loads, sys.stdin):
    if e["event"] == "stopped": print(e["member"], e["findings"])'
}

@test "the proof: files in /dev/shm of a rank that was killed are named, and not those from before, or of a good end" {
  agents_up 2
  "$podbox" exec train-1 sh -c 'echo >/dev/shm/nccl-before'
  start 2 bash -c '
    [ "$RANK" = 0 ] || head -c 1048576 /dev/zero >"/dev/shm/nccl-$MUSTER_ATTEMPT"
    echo "attempt $MUSTER_ATTEMPT: rank $RANK on $(hostname)"
    [ "$MUSTER_ATTEMPT" = 2 ] || exec -a rank-script sleep 1000'
  said 'attempt 1: rank 1 on train-1'
  said 'attempt 1: rank 0 on train-0'
  kill -KILL "$(rank_pid train-1)"
  ends_within 30 "$job"
  [ "$code" = 0 ]
  [ "$(all_findings | grep -c '\[\]$')" = 3 ]
  all_findings | grep -qE "^train-1.train \['/dev/shm has 1 file of 1\.0 MiB that was made while the ranks ran, .*: nccl-1; "
  grep -qE '^muster: warning: member train-1.*: after the ranks. end: /dev/shm has 1 file ' "$out"
  "$podbox" exec train-1 test -e /dev/shm/nccl-1
}

@test "a rank in D state: named with where it waits, its member is given up for a spare and told to the hook" {
  PATH=$PATH:/usr/sbin:/sbin
  local tool
  for tool in mkfs.ext4 fsfreeze; do command -v "$tool" >/dev/null || skip "$tool is missing"; done
  truncate -s 64M "$BATS_TEST_TMPDIR/image"
  mkfs.ext4 -q "$BATS_TEST_TMPDIR/image"
  mkdir "$BATS_TEST_TMPDIR/hung"
  mount -o loop "$BATS_TEST_TMPDIR/image" "$BATS_TEST_TMPDIR/hung" 2>/dev/null || skip 'no loop device can be mounted here'
  hung=$BATS_TEST_TMPDIR/hung
  agents_up 4 --share "$hung"
  fsfreeze -f "$hung"
  lead bash -c 'printf "#!/bin/sh\necho \"\$MUSTER_MEMBER: \$MUSTER_REASON\" >>/tmp/told\n" >/tmp/hook; chmod +x /tmp/hook'
  start 4 --spares 2 --replace-hook /tmp/hook bash -c '
    echo "attempt $MUSTER_ATTEMPT: rank $RANK on $(hostname)"
    [ "$MUSTER_ATTEMPT" = 1 ] || exit 0
    [ "$RANK" = 0 ] || echo x >"$0/file"
    exec -a rank-script sleep 1000' "$hung"
  said 'attempt 1: rank 0 on train-0'
  said 'attempt 1: rank 1 on train-1'
  wait_for 20 eval 'stuck=$(pids_of train-1 "rank-script" "muster run" | head -1) &&
    [ "$(ps -o stat= -p "$stuck" | cut -c1)" = D ]'
  kill -KILL "$(rank_pid train-0)" # train-0 is to blame for that, and train-1 for what follows
  said 'attempt 2: rank 1 on train-2'
  said 'attempt 2: rank 0 on train-3'
  ends_within 30 "$job"
  [ "$code" = 0 ]
  grep -qE '^muster: warning: member train-1.*: process [0-9]+ \(bash, D.*\) outlived SIGKILL' "$out"
  lead grep -q 'train-1.train: process .* outlived SIGKILL' /tmp/told
  fsfreeze -u "$hung"
  wait_for 20 gone "$stuck"
}

@test "a member that is cut off: its spare is prepared meanwhile, and starts when the ranks there have ended" {
  agents_up 3
  start 3 --spares 1 bash -c '
    echo "attempt $MUSTER_ATTEMPT: rank $RANK on $(hostname)"
    [ "$MUSTER_ATTEMPT" = 2 ] || exec -a rank-script sleep 1000'
  said 'attempt 1: rank 1 on train-1'
  said 'attempt 1: rank 0 on train-0'
  "$podbox" cut train-1
  said 'attempt 2: rank 1 on train-2'
  [ -z "$(rank_pid train-1)" ]
  ends_within 30 "$job"
  [ "$code" = 0 ]
  lead cat /tmp/events | python3 -c '
import json, sys
e = [json.loads(l) for l in sys.stdin]
def at(**want): return [x["t"] for x in e if all(x.get(k) == v for k, v in want.items())]
lost = at(event="lost", member="train-1.train")[0]
broken = at(event="link-broken", member="train-1.train")[0]
prepared = at(event="state", to="prepare")[1]
ready = at(event="state", to="start")[1]
print("broken %.2f lost %.2f prepared %.2f go %.2f" % (broken, lost, prepared, ready))
assert 1.5 < lost - broken < 4.5   # the grace counts from the last heartbeat, and is 5 s
assert 3 < ready - prepared < 8    # only GO waited
assert 8 < ready - broken < 15     # 13 s after the last heartbeat
'
}

@test "--heartbeat: silence is noticed after three of them, at both ends" {
  agents_up 2
  start 2 --heartbeat 0.2 --link-grace 60 --orphan-grace 60 sleep 1000
  wait_for 20 eval '[ "$(events started)" = 2 ]'
  local cut=$EPOCHREALTIME
  "$podbox" cut train-1
  wait_for 10 eval '[ "$(events link-broken)" = 1 ]'
  field link-broken 'e["time"]' | python3 -c '
import datetime, sys
t = datetime.datetime.fromisoformat(input().replace("Z", "+00:00")).timestamp() - float(sys.argv[1])
print("after %.2f s" % t)
assert t < 2.3 # with the default it is 3, less a tick' "$cut"
  wait_for 10 eval '"$podbox" logs train-1 | grep -q "connection to .* lost: no sign of life for [01]\."'
  "$podbox" heal train-1
  wait_for 20 eval '[ "$(events link-resumed)" = 1 ]'
  kill -TERM "$(pids_of train-0 'launcher/muster run' '^[0-9]+ timeout')"
  ends_within 20 "$job"
  [ "$code" = 143 ]
  run -125 "$muster" run --heartbeat 0 true
  [[ $output == *'--heartbeat 0: give seconds, 0.1 to 60'* ]]
}

@test "without a group: the agent of this machine is killed, another one is started" {
  "$muster" run --on-failure restart --healthy 0 --pmi none --grace 1 -n 2 bash -c '
    echo "attempt $MUSTER_ATTEMPT"; [ "$MUSTER_ATTEMPT" = 2 ] || exec sleep 1000' >"$out" 2>&1 3>&- &
  job=$!
  said 'attempt 1'
  kill -KILL "$(ps -o pid=,args= --ppid "$job" | awk '/musterd/ { print $1 }')"
  ends_within 30 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c '^attempt 2$' "$out")" = 2 ]
  grep -q '^muster: attempt 1 failed after .*was lost' "$out"
}

@test "an agent that is told to end says so by its exit code: a Job makes another pod" {
  pods_up 1
  "$podbox" exec train-0 "$musterd" >"$out" 2>&1 3>&- &
  job=$!
  wait_for 20 grep -q ' listens on ' "$out"
  kill -TERM "$(pids_of train-0 'musterd$' 'podbox' | head -1)"
  ends_within 20 "$job"
  [ "$code" = 143 ]
}

#!/usr/bin/env bats
# A file system that hangs below a pod's programs or working directory (FUSE without a daemon's answers):
# that pod's ranks cannot start, its agent lives on.

setup() {
  load helper
  load muster
  bed_setup
  cd "$BATS_TEST_TMPDIR"
  [ -e /dev/fuse ] || skip "there is no /dev/fuse: modprobe fuse"
  pods_up 3
  for i in 0 1 2; do
    "$podbox" exec "train-$i" mkdir /tmp/data
    "$podbox" exec "train-$i" -d --env HOME=/tmp/data "$musterd"
  done
  python3 "$BATS_TEST_DIRNAME/hung_mount.py" "$("$podbox" pid train-1)" /tmp/data >mount 3>&- &
  mount=$!
  wait_for 20 grep -q mounted mount
}

teardown() {
  kill "${mount:-}" 2>/dev/null || :
  bed_teardown
}

# waits POD PATTERN: a process there whose command matches does, for the file system.
waits() {
  local pid
  for pid in $(pids_of "$1" "$2"); do
    grep -q fuse "/proc/$pid/stack" && return 0
  done
  return 1
}

@test "--wdir hangs in a pod: it is named, a spare takes its position; other jobs run there meanwhile" {
  lead "$muster" run --pods 'train-[0-2].train' --slots 1 -n 2 --spares 1 --wdir /tmp/data --on-failure restart \
    --events /tmp/events --tag-output pwd >out 2>&1 3>&- &
  local job=$!
  wait_for 20 waits train-1 'musterd keeper'
  [ "$(timeout 20 "$podbox" exec train-0 "$muster" run --pods train-1.train -n 1 --pmi none echo beside)" = beside ]
  [ -d "/proc/$job" ]
  ends_within 90 "$job"
  cat out
  [ "$code" = 0 ]
  [ "$(grep -c '/tmp/data$' out)" = 2 ]
  grep -q 'member train-1.train .*program pwd, its PATH or working directory /tmp/data: the file system did not answer within 30 s' out
  run ! lead grep -q '"event":"link-broken"' /tmp/events
  wait_for 30 nothing_left 3
}

@test "a program in a PATH that hangs: SIGTERM ends the job, without the graces of ranks" {
  lead "$muster" run --pods 'train-[0-1].train' --slots 1 -x PATH=/tmp/data:/usr/bin --grace 60 true >out 2>&1 3>&- &
  local job=$!
  wait_for 20 waits train-1 'musterd keeper'
  kill -TERM "$(pids_of train-0 'launcher/muster run')"
  ends_within 30 "$job"
  cat out
  [ "$code" = 143 ]
  wait_for 30 nothing_left 2
}

@test "the home of ssh clients hangs: theirs wait, and the agent has time for all others" {
  local ssh="ssh -i /etc/muster/ssh/ssh-privatekey -p 7822 -o StrictHostKeyChecking=no \
    -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o IdentitiesOnly=yes"
  lead timeout 60 $ssh "$("$podbox" ip train-1)" true >out 2>&1 3>&- &
  local client=$!
  wait_for 20 waits train-1 'sh -c cd '
  [ "$(timeout 20 "$podbox" exec train-0 "$muster" run --pods train-1.train -n 1 --pmi none echo beside)" = beside ]
  [ -d "/proc/$client" ]
  kill "$mount" # whoever waits for it has an error, and a shell its root directory
  ends_within 20 "$client"
  [ "$code" = 0 ]
}

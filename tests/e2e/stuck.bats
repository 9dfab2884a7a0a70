#!/usr/bin/env bats
# Output that nobody takes for a minute: a pipe without reader, and a file system that hangs
# (a frozen ext4: who writes there is in D state). It delays nothing but output.
#
# All jobs begin together, in setup_file; each test waits for its own.

LINES_EACH=300000 # 2 MB a rank: more than credit and pipes hold
BLOCKED_MS=60000

load helper
load muster

setup_file() {
  local why tool
  why=$(bed_missing)
  for tool in mkfs.ext4:e2fsprogs fsfreeze:util-linux; do
    PATH=$PATH:/usr/sbin:/sbin command -v "${tool%%:*}" >/dev/null || why="${tool%%:*} is missing: install ${tool#*:}"
  done
  [ -z "$why" ] || skip "$why"
  cd "$BATS_FILE_TMPDIR"
  export PODBOX_BED="t$$-stuck" BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
  truncate -s 64M image
  mkfs.ext4 -q image
  mkdir hung
  mount -o loop image hung 2>/dev/null || skip "no loop device can be mounted here"
  mkdir hung/dir
  agents_up 4
  source=(--pods 'train-[0-3].train' --slots 1 --pmi none --tag-output)
  mkfifo pipe
  sleep 1000 <>pipe 3>&- & # holds it open, never reads
  echo $! >holder.pid
  exec 8>hung/file
  fsfreeze -f hung
  setsid sh -c 'sleep 200; fsfreeze -u hung' >/dev/null 2>&1 3>&- & # whatever happens here
  echo $! >guard.pid
  mkfifo go
  start piped "$podbox" exec train-0 "$muster" run "${source[@]}" seq "$LINES_EACH" >pipe
  start filed "$podbox" exec train-0 "$muster" run "${source[@]}" seq "$LINES_EACH" >&8
  start dir "$muster" run --pmi none --events dir.events --output hung/dir -n 2 seq 1000
  start state "$muster" run --pmi none --grace 1 -n 2 sh -c \
    'echo up; [ "$RANK" = 1 ] || echo x >hung/rank; read -r _ <go; exit 3' >state.out
  exec 8>&-
  wait_for 30 pipe_is_full pipe
  ms >blocked.since
}

# start NAME CMD...: in the background; NAME.err, and at its end NAME.code.
start() {
  local name=$1
  shift
  (
    code=0
    timeout 150 "$@" 2>"$name.err" || code=$?
    echo "$code" >"$name.tmp"
    mv "$name.tmp" "$name.code"
  ) 3>&- &
}

teardown_file() {
  cd "$BATS_FILE_TMPDIR" || return
  fsfreeze -u hung 2>/dev/null
  kill "$(cat holder.pid)" "-$(cat guard.pid)" 2>/dev/null
  wait_for 20 umount hung
  bed_teardown
}

setup() { cd "$BATS_FILE_TMPDIR"; }

teardown() { [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 5 ./*.err ./*.code || :; }

# ended NAME SECONDS: sets code.
ended() {
  wait_for "$2" test -e "$1.code"
  code=$(cat "$1.code")
}

# all_there RANKS <OUTPUT: each rank's numbers in order, none missing.
all_there() {
  awk -v ranks="$1" -v lines="$LINES_EACH" -F '[][<>: ]+' '
    $4 != ++next_of[$2] { print "line " NR ": " $0; exit bad = 1 }
    END { for (r = 0; r < ranks; r++) if (next_of[r] != lines) bad = 1; exit bad }'
}

@test "a rank in D state is named and left, the job ends with its first cause" {
  timeout 20 sh -c 'echo >go'
  ended state 60
  [ "$code" = 3 ]
  pid=$(sed -n 's/^muster: warning: member .*process \([0-9]*\) (sh, D[^)]*) outlived SIGKILL.*/\1/p' state.err)
  [ "$(ps -o stat= -p "$pid" | cut -c1)" = D ] # it was told of the right one
  [ "$(grep -c '^muster: [a-z]* *rank 1 .*exit code 3' state.err)" = 1 ]
}

@test "--output DIR on a file system that hangs: exits are seen at once, the end is bounded, 125" {
  wait_for 30 eval '[ "$(grep -c "\"event\":\"exited\"" dir.events)" = 2 ]'
  ended dir 60
  [ "$code" = 125 ]
  grep -q '^muster: .*output of theirs was lost: hung/dir: .*file system hang' dir.err
}

@test "stdout blocked for 60 s, pipe or file: no heartbeat lost, no rank killed, nothing lost" {
  left=$((BLOCKED_MS - ($(ms) - $(cat blocked.since))))
  sleep $((left > 0 ? left / 1000 + 1 : 0)) # the time itself is what is tested
  [ ! -e piped.code ]
  [ ! -e filed.code ]
  for i in 0 1 2 3; do [ "$(pids_of "train-$i" "seq $LINES_EACH" 'muster run' | wc -l)" = 2 ]; done
  pipe_is_full pipe
  timeout 60 cat pipe >got 3>&- &
  wait_for 30 test -s got # it holds the pipe now, which is never without a reader
  kill "$(cat holder.pid)"
  fsfreeze -u hung
  ended piped 60
  [ "$code" = 0 ]
  wait
  all_there 4 <got
  ended filed 60
  [ "$code" = 0 ]
  all_there 4 <hung/file
  [ ! -s piped.err ]
  [ ! -s filed.err ]
}

#!/usr/bin/env bats
# What ranks print, and how it reaches the user.

teardown() {
  kill "${holder:-}" "${job:-}" 2>/dev/null || true
}

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR"
}

@test "--tag-output names rank and stream of each line" {
  run "$muster" run --pmi none --tag-output -n 2 sh -c 'echo out; echo err >&2'
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = '[0]<stderr>: err
[0]<stdout>: out
[1]<stderr>: err
[1]<stdout>: out' ]
}

@test "--timestamp-output gives each line its time" {
  run "$muster" run --pmi none --timestamp-output --tag-output -n 1 echo x
  [[ "$output" =~ ^20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-9:]{8}\.[0-9]{3}Z\ \[0\]\<stdout\>:\ x$ ]]
}

@test "--merge-stderr-to-stdout" {
  run --separate-stderr "$muster" run --pmi none --merge-stderr-to-stdout -n 1 \
    sh -c 'echo err >&2'
  [ "$output" = err ]
  [ -z "$stderr" ]
}

@test "--output DIR: a file a rank and stream, byte for byte, empty ones too" {
  run "$muster" run --pmi none --output logs/ -n 2 sh -c 'printf "a\0b%s" "$RANK"'
  [ "$status" = 0 ]
  [ -z "$output" ]
  printf 'a\0b1' | cmp - logs/rank.1.out
  [ -e logs/rank.1.err ] && [ ! -s logs/rank.1.err ]
  "$muster" run --pmi none --output logs -n 1 echo new
  [ "$(cat logs/rank.0.out)" = new ] # not behind what was there
}

@test "--output where nothing can be written is refused before anything starts" {
  : >file
  run "$muster" run --output file -n 1 touch started
  [ "$status" = 125 ]
  [[ "$output" == *"--output file"*"Not a directory"* ]]
  [ ! -e started ]
}

@test "a file that takes no more: it is named, 125, and ranks are not killed for it" {
  run --separate-stderr bash -c "ulimit -f 16; '$muster' run --pmi none -n 1 seq 1 50000 >file"
  [ "$status" = 125 ]
  [[ "$stderr" == *"muster: the ranks ended well, but"*"cannot write to stdout: File too large"* ]]
  [ "$(wc -c <file)" = 16384 ]
  run --separate-stderr bash -c "ulimit -f 16; '$muster' run --pmi none -n 2 --output logs sh -c '
    [ \$RANK = 0 ] || seq 1 50000; echo \$RANK >&2'"
  [ "$status" = 125 ]
  [[ "$stderr" == *"muster: the ranks ended well, but"*"cannot write to logs/rank.1.out: File too large"* ]]
  [ "$(cat logs/rank.0.err logs/rank.1.err)" = $'0\n1' ]
}

@test "a file's writer that is killed: the ranks go on, 125 tells of it" {
  mkfifo go
  "$muster" run --pmi none -n 1 sh -c 'echo one; read -r x <go; echo two; touch done' >file 2>err 3>&- &
  job=$!
  wait_for 20 grep -q one file
  pkill -KILL -o -P "$job" -f '^muster writer' # the oldest one: stdout's
  timeout 20 sh -c 'echo >go'
  ends_within 30 "$job"
  [ "$code" = 125 ]
  [ -e done ]
  grep -q '^muster: .*output of theirs was lost: stdout: the process that writes it .*signal 9' err
}

@test "a file gets all that was printed before the end, stdout and stderr in one" {
  "$muster" run --pmi none -n 2 sh -c 'seq 1 20000; seq 1 20000 >&2' >>file 2>&1
  [ "$(wc -l <file)" = 80000 ]
  echo more >>file # and its offset is where it was left
  [ "$(tail -1 file)" = more ]
}

@test "the last lines of a killed rank arrive, and are told with the cause" {
  run --separate-stderr "$muster" run --pmi none -n 1 sh -c '
    seq 1 5000; echo "cuda error" >&2; kill -KILL $$'
  [ "$status" = 137 ]
  [ "$(tail -1 <<<"$output")" = 5000 ]
  [[ "$stderr" == *"signal 9 (SIGKILL)"*"last lines on stderr"*"| cuda error" ]]
}

@test "a line of 10 MiB and binary data come through whole" {
  run bash -c "'$muster' run --pmi none -n 1 sh -c 'head -c 10485760 /dev/zero | tr \"\\0\" x; echo' | wc -c"
  [ "$output" = 10485761 ]
  head -c 3000000 /dev/urandom >bin
  "$muster" run --pmi none -n 1 cat bin >copy
  cmp bin copy
}

@test "a blocked reader delays nothing but output: exits and heartbeats go on" {
  mkfifo pipe
  sleep 1000 <>pipe 3>&- & # holds it open, never reads
  holder=$!
  "$muster" run --pmi none --events events -n 1 sh -c "seq 1 100000; exit 5" >pipe 2>err 3>&- &
  job=$!
  # The exit is known although the output is stuck.
  wait_for 30 eval '[ "$(grep -c "\"event\":\"exited\"" events)" = 1 ]'
  wait_for 30 eval 'grep -q "\"to\":\"drain\"" events'
  kill -0 "$job"
  lines=$(timeout 30 head -n 100000 pipe | wc -l)
  kill "$holder"
  [ "$lines" = 100000 ]
  ends_within 30 "$job"
  [ "$code" = 5 ]
}

@test "stdin goes to rank 0, or where --stdin says, with its end" {
  run bash -c "printf 'a\nb' | '$muster' run --pmi none --tag-output -n 2 sh -c 'cat; echo; echo end'"
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = '[0]<stdout>: a
[0]<stdout>: b
[0]<stdout>: end
[1]<stdout>: 
[1]<stdout>: end' ]
  # Case lau-04: --stdin N with N not 0.
  run bash -c "echo a | timeout 20 '$muster' run --pmi none --tag-output --stdin 1 -n 2 cat"
  [ "$status" = 0 ]
  [ "$output" = '[1]<stdout>: a' ]
  run bash -c "echo a | '$muster' run --pmi none --stdin all -n 3 cat"
  [ "$output" = 'a
a
a' ]
  run bash -c "echo a | '$muster' run --pmi none --stdin none -n 2 cat"
  [ "$status" = 0 ]
  [ -z "$output" ]
  run "$muster" run --pmi none --stdin 2 -n 2 cat </dev/null
  [ "$status" = 125 ]
  [[ "$output" == *"--stdin 2"*"2 ranks"* ]]
}

@test "much stdin comes through whole; a rank that does not read it stops nothing" {
  head -c 5000000 /dev/urandom >bin
  "$muster" run --pmi none -n 2 sh -c '[ $RANK = 1 ] || cat' <bin >copy
  cmp bin copy
  cat bin | "$muster" run --pmi none -n 1 cat >copy
  cmp bin copy
  run bash -c "yes | head -c 10000000 | timeout 20 '$muster' run --pmi none -n 2 echo done"
  [ "$status" = 0 ]
}

@test "case lau-02: a launch in the background of a terminal is not stopped for its stdin" {
  cat >session.sh <<EOF
set -m
'$muster' run --pmi none -n 1 sh -c 'echo one' &
'$muster' run --pmi none -n 1 sh -c 'echo two' &
wait
echo all ended
EOF
  run timeout 30 script -qec 'bash session.sh' /dev/null
  [ "$status" = 0 ]
  [[ "$output" == *one* ]]
  [[ "$output" == *two* ]]
  [[ "$output" == *"all ended"* ]]
}

@test "a warning in the middle of a run stands on a line of its own" {
  "$muster" run --pmi none -n 2 sh -c 'if [ "$RANK" = 0 ]; then printf half >&2; exit 0; fi; until [ -e go ]; do sleep 0.05; done' \
    2>err 3>&- &
  local pid=$!
  wait_for 10 grep -q half err
  kill -TSTP "$pid"
  wait_for 10 grep -q "ranks are stopped" err
  touch go
  kill -CONT "$pid"
  wait "$pid"
  [ "$(sed -n 1p err)" = half ]
  [[ "$(sed -n 2p err)" == "muster: warning: the ranks are stopped"* ]]
}

@test "--timeout stops the job with 124" {
  run "$muster" run --pmi none --timeout 0.5 --grace 1 -n 2 sleep 100
  [ "$status" = 124 ]
  [[ "$output" == *"--timeout 0.5 s"* ]]
}

@test "the cause stands on a line of its own, whatever a rank left unfinished" {
  run timeout 20 "$muster" run --pmi none -n 1 sh -c 'printf half >&2; exit 3'
  [ "$status" = 3 ]
  [ "${lines[0]}" = half ]
  [[ "${lines[1]}" == "muster: rank 0 "* ]]
  run timeout 20 "$muster" run --pmi none -n 1 sh -c 'printf half; exit 3'
  [[ "$output" == $'half\nmuster: rank 0 '* ]]
}

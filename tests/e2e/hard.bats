#!/usr/bin/env bats
# What a bad night brings to one machine: closed and stuck streams, terminals, odd
# environments. No agent, no key, no root needed.

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR"
}

job() { timeout -k 2 20 "$muster" run --pmi none "$@"; }

@test "closed streams: the job ends, what is lost is told by the exit code" {
  for streams in '>&-' '>&- 2>&-' '>&- 2>&- <&-'; do
    eval "job -n 2 echo hi $streams" && code=0 || code=$?
    [ "$code" = 125 ]
  done
  job -n 2 echo hi <&-
}

@test "stdout and stderr in one pipe: no line is cut" {
  job -n 4 sh -c 'i=0; while [ $i -lt 2000 ]; do
    echo out-0123456789-$i; echo err-0123456789-$i >&2; i=$((i + 1)); done' 2>&1 | cat >both
  [ "$(wc -l <both)" = 16000 ]
  [ "$(grep -cvE '^(out|err)-0123456789-[0-9]+$' both)" = 0 ]
}

@test "one SIGTERM ends a job whose output nobody reads, messages included" {
  mkfifo pipe
  exec 7<>pipe # open, and never read
  "$muster" run --pmi none --grace 1 -n 2 sh -c 'yes & yes >&2' >pipe 2>&1 7>&- &
  pid=$!
  wait_for 10 pipe_is_full pipe
  kill -TERM "$pid"
  ends_within 10 "$pid"
  [ "$code" = 143 ]
  exec 7>&-
}

@test "in the background of a terminal with tostop it goes on" {
  cat >script.sh <<SCRIPT
stty tostop
timeout 20 "$muster" run --pmi none -n 2 echo hi &
wait \$!
echo "code \$?"
SCRIPT
  timeout 30 script -qec "bash -m script.sh" /dev/null </dev/null >got
  grep -q 'code 0' got
}

@test "a relative --wdir and a program beside it" {
  mkdir dir
  printf '#!/bin/sh\npwd\n' >dir/prog
  chmod +x dir/prog
  run job -n 1 --wdir dir ./prog
  [ "$status" = 0 ]
  [ "$output" = "$PWD/dir" ]
}

@test "an event log that cannot be written says so, a FIFO without reader is refused" {
  run job -n 1 --events /dev/full true
  [ "$status" = 0 ]
  [ "$(grep -c 'events.*No space left' <<<"$output")" = 1 ]
  mkfifo fifo
  run job -n 1 --events fifo true
  [ "$status" = 125 ]
  [[ "$output" == *"--events fifo"* ]]
}

@test "no HOME and no passwd entry: PMIx and Open MPI live" {
  [ "$(id -u)" = 0 ] || skip "needs root to become another uid"
  # Where that uid can reach it, wherever the build tree lies.
  copy=$(mktemp -d /tmp/muster-e2e-XXXXXX)
  mkdir "$copy/launcher" "$copy/agent"
  cp "$muster" "$copy/launcher"
  cp "$MUSTER_BUILDDIR"/agent/muster{d,-pmixd} "$copy/agent"
  cp "$mpi/hello" "$copy"
  chmod -R a+rX "$copy"
  cd /
  run --separate-stderr env -u HOME TMPDIR=/tmp setpriv --reuid 54321 --regid 54321 --clear-groups \
    timeout -k 2 30 "$copy/launcher/muster" run -n 2 "$copy/hello"
  rm -r "$copy"
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 2 ]
}

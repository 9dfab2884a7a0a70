#!/usr/bin/env bats
# muster run on this machine: no agent, no key, no root needed.

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR"
}

@test "hello, ring and allreduce run on 4 ranks with shared memory" {
  run --separate-stderr "$muster" run -n 4 "$mpi/hello"
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 4 ]
  [ "$(grep -c 'of 4 on .*, shared 4' <<<"$output")" = 4 ]
  run "$muster" run -n 4 "$mpi/ring"
  [ "$status" = 0 ]
  run "$muster" run -n 4 "$mpi/allreduce"
  [ "$status" = 0 ]
}

@test "options end at the program: its own flags stay alone" {
  run "$muster" run -n 1 printf '%s,' -n 7 --host x
  [ "$status" = 0 ]
  [ "$output" = "-n,7,--host,x," ]
}

@test "argv and -x values arrive byte for byte, no shell on the way" {
  run "$muster" run -n 1 -x A=$'l1\nl2' -x 'B=$(id) "q"' -x 'C=x=y=z' \
    sh -c 'printf "<%s>" "$A" "$B" "$C" "$1"' sh '$HOME *'
  [ "$status" = 0 ]
  [ "$output" = $'<l1\nl2><$(id) "q"><x=y=z><$HOME *>' ]
}

@test "more ranks than the pod's limit of descriptors allows by itself, and they keep that limit" {
  run bash -c "ulimit -Sn 64; exec timeout 60 $muster run -n 40 --pmi none bash -c 'ulimit -Sn'"
  [ "$status" = 0 ]
  [ "$(sort -u <<<"$output")" = 64 ]
  [ "$(wc -l <<<"$output")" = 40 ]
}

@test "exit code: that of the first failing rank, 128 + signal, 126, 127" {
  run "$muster" run -n 2 sh -c 'exit $((RANK * 3))'
  [ "$status" = 3 ]
  [[ "$output" == *"rank 1 on "*"exit code 3"* ]]
  run "$muster" run -n 2 sh -c '[ $RANK = 0 ] || kill -SEGV $$'
  [ "$status" = 139 ]
  [[ "$output" == *"signal 11 (SIGSEGV)"* ]]
  run -127 "$muster" run -n 2 no-such-program
  [[ "$output" == *"no-such-program: not found in PATH"* ]]
  run "$muster" run -n 2 /etc/passwd
  [ "$status" = 126 ]
  [[ "$output" == *"/etc/passwd"* ]]
}

@test "case lau-11: the exit code of _exit(3) is never lost" {
  for _ in $(seq 20); do
    run "$muster" run --pmi none -n 2 sh -c 'exec sh -c "exit 3"'
    [ "$status" = 3 ]
  done
}

@test "MPI_Abort gives its code and is told as the cause" {
  run "$muster" run -n 4 "$mpi/abort" 2 7
  [ "$status" = 7 ]
  [[ "$output" == *"rank 2 "*"MPI_Abort(7)"* ]]
  [ "$(grep -c '^muster: ' <<<"$output")" = 1 ]
}

@test "a rank that leaves without MPI_Finalize ends the job" {
  run timeout 60 "$muster" run -n 3 "$mpi/die" 1 5
  [ "$status" = 5 ]
  run timeout 60 "$muster" run -n 3 "$mpi/die" 1 0
  [ "$status" = 1 ]
  [[ "$output" == *"rank 1 "*"MPI_Finalize"* ]]
}

@test "a rank that never calls MPI_Init while others wait for it ends the job" {
  run timeout 60 "$muster" run -n 2 sh -c "[ \$RANK = 1 ] || exec '$mpi/hello'"
  [ "$status" = 1 ]
  [[ "$output" == *"rank 1 "*"without MPI_Init"* ]]
}

@test "Ctrl-C stops the ranks, also grandchildren in sessions of their own" {
  "$muster" run -n 2 sh -c 'setsid sleep 1234.5 & echo up; wait' >out 2>&1 &
  pid=$!
  wait_for 30 eval '[ "$(grep -c up out)" = 2 ]'
  kill -INT "$pid"
  ends_within 20 "$pid"
  [ "$code" = 130 ]
  grep -q 'interrupted by SIGINT' out
  ! pgrep -f 'sleep 1234[.]5'
}

@test "a second Ctrl-C does not wait for the grace" {
  "$muster" run --pmi none --grace 100 --events events -n 2 \
    sh -c 'trap "" TERM; echo up; while :; do sleep 97.5; done' >out 2>&1 3>&- &
  pid=$!
  wait_for 30 eval '[ "$(grep -c up out)" = 2 ]'
  kill -INT "$pid"
  wait_for 10 grep -q '"to":"stop"' events
  kill -INT "$pid"
  ends_within 20 "$pid"
  [ "$code" = 130 ]
  ! pgrep -f 'sleep 97[.]5'
}

@test "SIGUSR1 and SIGUSR2 reach the ranks; SIGTSTP stops them, SIGCONT lets them go on" {
  cat >rank.sh <<'EOF'
trap 'echo got usr1' USR1
trap 'echo got usr2' USR2
echo "up $$"
while [ ! -e done ]; do sleep 0.05; done
EOF
  "$muster" run --pmi none -n 2 sh rank.sh >out 2>err 3>&- &
  pid=$!
  wait_for 30 eval '[ "$(grep -c up out)" = 2 ]'
  kill -USR1 "$pid"
  kill -USR2 "$pid"
  wait_for 10 eval '[ "$(grep -c "got usr[12]" out)" = 4 ]'
  mapfile -t ranks < <(awk '/^up/ { print $2 }' out)
  kill -TSTP "$pid"
  # D: stopped amid its vfork(), whose child, stopped as well, does not get to its exec.
  wait_for 10 eval '[ "$(ps -o stat= -p "${ranks[0]},${ranks[1]}" | grep -c "^[TD]")" = 2 ]' || { cat out err; return 1; }
  grep -q "kill -CONT $pid" err
  kill -0 "$pid"
  kill -CONT "$pid"
  wait_for 10 eval '[ "$(ps -o stat= -p "${ranks[0]},${ranks[1]}" | grep -c ^T)" = 0 ]'
  touch done
  ends_within 20 "$pid"
  [ "$code" = 0 ]
}

# A memory cgroup of 64 MiB, v1 or v2; skips, aloud, where none can be made.
memory_cgroup() {
  local v1=/sys/fs/cgroup/memory v2
  v2=$(findmnt -n -o TARGET -t cgroup2 | head -1)
  if mkdir "$v1/muster-$$" 2>/dev/null && [ -e "$v1/muster-$$/memory.limit_in_bytes" ]; then
    cgroup=$v1/muster-$$
    echo 67108864 >"$cgroup/memory.limit_in_bytes"
  elif [ -n "$v2" ] && mkdir "$v2/muster-$$" 2>/dev/null && [ -e "$v2/muster-$$/memory.max" ]; then
    cgroup=$v2/muster-$$
    echo 67108864 >"$cgroup/memory.max"
  else
    skip "no memory cgroup can be made here (needs root and the memory controller)"
  fi
}

@test "case lau-22: a rank killed for want of memory is named so, exit 137" {
  memory_cgroup
  run timeout 60 sh -c "echo \$\$ >$cgroup/cgroup.procs && exec '$muster' run --pmi none -n 2 \
    sh -c '[ \$RANK = 0 ] || exec tail /dev/zero; sleep 30'"
  rmdir "$cgroup"
  [ "$status" = 137 ]
  [[ "$output" == *"rank 1 "*"signal 9 (SIGKILL): out of memory"* ]]
}

@test "a killed launcher leaves nothing" {
  "$muster" run -n 2 sh -c 'setsid sleep 2345.6 & echo up; wait' >out 2>&1 &
  pid=$!
  wait_for 30 eval '[ "$(grep -c up out)" = 2 ]'
  kill -KILL "$pid"
  wait_for 20 eval '! pgrep -f "sleep 2345[.]6"'
}

@test "case lau-06: a wrapper's child ends with it, by SIGTERM and by SIGKILL of the launcher" {
  local signal
  for signal in TERM KILL; do
    "$muster" run --pmi none --grace 1 -n 2 sh -c 'sleep 87.5 & echo up; wait' >out 2>&1 3>&- &
    pid=$!
    wait_for 30 eval '[ "$(grep -c up out)" = 2 ]'
    kill "-$signal" "$pid"
    wait_for 20 eval '! pgrep -f "sleep 87[.]5"'
    wait "$pid" || true
  done
}

@test "case lau-07: a rank that ignores SIGTERM gets SIGKILL after the grace" {
  "$muster" run --pmi none --grace 0.5 -n 2 sh -c \
    'trap "" TERM; echo up; while :; do sleep 98.5; done' >out 2>&1 3>&- &
  pid=$!
  wait_for 30 eval '[ "$(grep -c up out)" = 2 ]'
  kill -TERM "$pid"
  ends_within 10 "$pid"
  [ "$code" = 143 ]
  ! pgrep -f 'sleep 98[.]5'
}

@test "case lau-21: --map-by ppr with --oversubscribe; without it both numbers and the option" {
  run "$muster" run --pmi none --map-by ppr:3:node --oversubscribe true
  [ "$status" = 0 ]
  "$muster" keygen key >/dev/null
  run "$muster" run --key key --host 127.0.0.1:2 --map-by ppr:8:node true
  [ "$status" = 125 ]
  [[ "$output" == *"8 ranks"*"2 slots"*"--oversubscribe"* ]]
  run "$muster" run --map-by core true
  [ "$status" = 125 ]
  [[ "$output" == *"--map-by core: slot, node or ppr:K:node"* ]]
}

@test "what outlives its rank is gone after a good end" {
  run "$muster" run -n 1 sh -c 'setsid sleep 3456.7 >/dev/null 2>&1 & exit 0'
  [ "$status" = 0 ]
  ! pgrep -f 'sleep 3456[.]7'
}

@test "case lau-14: lines of several ranks are never mixed, none is lost" {
  cat >lines.sh <<'EOF'
i=0
pad=$(printf '%0290d' 0)
while [ $i -lt 1000 ]; do
  printf 'rank%s-' "$RANK"; printf '%s' "$pad"; printf -- '-%s\n' "$i"
  i=$((i + 1))
done
EOF
  run --separate-stderr "$muster" run --pmi none -n 8 sh lines.sh
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 8000 ]
  [ "$(grep -cE '^rank[0-7]-0{290}-[0-9]+$' <<<"$output")" = 8000 ]
  for r in 0 7; do
    grep "^rank$r-" <<<"$output" | sed 's/.*-//' | cmp - <(seq 0 999)
  done
}

@test "output that cannot be written ends with 125, a reader that had enough with 0" {
  run bash -c "'$muster' run -n 2 echo hi >/dev/full"
  [ "$status" = 125 ]
  [[ "$output" == *"stdout: No space left"* ]]
  run bash -c "set -o pipefail; '$muster' run -n 2 seq 1 100000 | head -n 1 >/dev/null"
  [ "$status" = 0 ]
  [ "$output" = '' ] # as other tools
}

@test "ranks that go on though nobody reads them are told of" {
  "$muster" run -n 1 sh -c 'until [ -e stop ]; do echo on; sleep 0.01; done' 2>err 3>&- |
    head -n 1 >/dev/null 3>&- &
  wait_for 40 grep -q 'nobody reads the output' err
  touch stop
  wait $!
}

@test "variables of torch, DeepSpeed, Open MPI and MPICH are there, the launcher's are not" {
  run env SLURM_JOBID=5 PMIX_RANK=9 OMPI_COMM_WORLD_SIZE=77 "$muster" run -n 2 sh -c '
    [ "$RANK" = 0 ] || env | sort'
  [ "$status" = 0 ]
  for want in RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 NODE_RANK=0 GROUP_RANK=0 \
    MASTER_ADDR=127.0.0.1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=1 \
    PMI_SIZE=2 MUSTER_RANK=1; do
    grep -qx "$want" <<<"$output"
  done
  grep -qE '^MASTER_PORT=[1-9][0-9]+$' <<<"$output"
  ! grep -q '^SLURM_' <<<"$output"
}

@test "the event log has every state, as JSON lines" {
  "$muster" run -n 2 --events events true
  states=$(sed -n 's/.*"event":"state".*"to":"\([a-z]*\)".*/\1/p' events | tr '\n' ' ')
  [ "$states" = "connect claim inspect prepare start run stop drain close done " ]
  [ "$(grep -c '"event":"exited"' events)" = 2 ]
  tail -1 events | grep -q '"event":"end","code":0'
}

@test "no program, a wrong option and a missing value are one clear error" {
  run "$muster" run -n 2
  [ "$status" = 125 ]
  [[ "$output" == *"which program"* ]]
  run "$muster" run -n x true
  [ "$status" = 125 ]
  [[ "$output" == *"-n x"* ]]
  run "$muster" run -n 2 '' arg
  [ "$status" = 125 ]
  [[ "$output" == *"program's name is empty"* ]]
  run "$muster" run -q -v true
  [ "$status" = 125 ]
  [[ "$output" == *"-q and -v"* ]]
  run "$muster" run -x PATH,HOME true
  [ "$status" = 125 ]
  [[ "$output" == *"-x PATH,HOME: one name each, such as -x PATH -x HOME"* ]]
  run "$muster" run -x NOT_SET_ANYWHERE true
  [ "$status" = 125 ]
  [[ "$output" == *"NOT_SET_ANYWHERE"* ]]
}

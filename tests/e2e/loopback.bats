#!/usr/bin/env bats
# A group without root: agents on loopback addresses.

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR"
  "$muster" keygen key >/dev/null
  export MUSTER_KEY_DIR=$PWD/key
  agents=()
  for i in 2 3; do
    "$musterd" --listen "127.0.0.$i:17823" 2>"agent.$i" &
    agents+=($!)
    echo "127.0.0.$i slots=2 port=17823" >>hostfile
  done
  wait_for 10 eval 'grep -q "listens on" agent.2 && grep -q "listens on" agent.3'
}

teardown() {
  kill "${agents[@]}" 2>/dev/null || true
}

@test "Open MPI runs over two agents on one machine" {
  run --separate-stderr timeout 60 "$muster" run --hostfile hostfile "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 4 on .*, shared 2' <<<"$output")" = 4 ]
  run timeout 60 "$muster" run --hostfile hostfile "$mpi/allreduce"
  [ "$status" = 0 ]
}

@test "an agent that gets SIGTERM stops its ranks and says why" {
  "$muster" run --hostfile hostfile --grace 1 sh -c "echo up; sleep 100.$$" >out 2>&1 &
  job=$!
  wait_for 30 eval '[ "$(grep -c up out)" = 4 ]'
  kill -TERM "${agents[1]}"
  ends_within 20 "$job"
  [ "$code" != 0 ]
  grep -q '127.0.0.3' out
  ! pgrep -f "sleep 100\\.$$"
}

@test "two jobs at once on the same agents do not disturb each other" {
  "$muster" run --hostfile hostfile sh -c 'echo up; sleep 30; exit 0' >one 2>&1 &
  first=$!
  wait_for 30 eval '[ "$(grep -c up one)" = 4 ]'
  run "$muster" run --hostfile hostfile sh -c 'exit 4'
  [ "$status" = 4 ]
  kill -0 "$first"
  kill -INT "$first"
  ends_within 20 "$first"
  [ "$code" = 130 ]
}

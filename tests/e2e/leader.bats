#!/usr/bin/env bats
# The launcher dies, freezes, or comes twice: the job has one launcher that commands, its ranks
# start once more, and what is done stays done.

setup() {
  load helper
  load muster
  bed_setup
  out=$BATS_TEST_TMPDIR/out
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || {
    tail -n 40 "$BATS_TEST_TMPDIR"/out*
    lead tail -n 30 /tmp/events
  } || true
  bed_teardown
}

# Ranks hang in MPI until attempt $1, which checks its sums.
ranks_until() {
  echo "if [ \$MUSTER_ATTEMPT -lt $1 ]; then exec $mpi/hang; else exec $mpi/allreduce; fi"
}

# agents_but_leader N: pods with agents in all but train-0.
agents_but_leader() {
  local i
  pods_up "$1"
  for ((i = 1; i < $1; i++)); do "$podbox" exec "train-$i" -d "$musterd"; done
}

launcher_pid() { pids_of "$1" "^[0-9]+ [^ ]*muster run" | head -1; }
rank_pid() { pids_of "$1" 'tests/mpi/hang$' 'muster run' | head -1; }

@test "musterd --lead: the launcher is killed, the ranks start once more, its code is musterd's" {
  agents_but_leader 4
  lead timeout 90 "$musterd" --lead -- "$muster" run --pods 'train-[0-3].train' --slots 1 \
    --events /tmp/events bash -c "$(ranks_until 2)" >"$out" 2>&1 3>&- &
  job=$!
  wait_for 60 ranks_running 4
  kill -KILL "$(launcher_pid train-0)"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c '^allreduce of 4: .* right' "$out")" = 5 ]
  grep -q 'ended with signal 9 (SIGKILL): started again' "$out"
  grep -q 'ended well at attempt 2, after 1 restart' "$out"
  wait_for 5 nothing_left 4
}

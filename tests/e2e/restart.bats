#!/usr/bin/env bats
# A rank dies or a pod is replaced: the ranks start again on the pods that are there, in a star
# and in a tree, and the job ends as if nothing had been. Each test is one job that goes through
# several failures; its own summary says which.

setup() {
  load helper
  load muster
  bed_setup
  out=$BATS_TEST_TMPDIR/out
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || { cat "$out"; lead tail -n 30 /tmp/events; } || true
  bed_teardown
}

# start_job ATTEMPTS RANKS RUN-OPTIONS...: a job of the pods that were made whose first attempts
# hang in MPI, and whose last one checks its sums. --healthy 0: no pause between attempts.
start_job() {
  attempts=$1
  ranks=$2
  shift 2
  lead timeout 120 "$muster" run --on-failure restart --healthy 0 --grace 1 --orphan-grace 2 \
    --link-grace 1 --events /tmp/events "$@" bash -c "
      if [ \$MUSTER_ATTEMPT -lt $attempts ]; then exec $mpi/hang; else exec $mpi/allreduce; fi" \
    >"$out" 2>&1 3>&- &
  job=$!
  attempt=1
  wait_for 60 ranks_running "$ranks"
}

# next: the attempt that follows runs, or the last one has ended the job.
next() {
  ((++attempt < attempts)) || return 0
  wait_for 60 ranks_running $((attempt * ranks))
}

rank_pid() { pids_of "$1" 'tests/mpi/hang$' 'muster run' | head -1; }
agent_pid() { pids_of "$1" 'musterd$' | head -1; }

# ends_well N: the sums are right, the summary has this many restarts, and nothing is left.
ends_well() {
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c "^allreduce of $ranks: .* right" "$out")" = 5 ]
  grep -q "^muster: ended well at attempt $attempts, after $((attempts - 1)) restart" "$out"
  wait_for 5 nothing_left "$1"
}

# failed N TEXT: why attempt N did, as the summary has it.
failed() { grep -q "^muster: attempt $1 failed after .*$2" "$out"; }

@test "star: a rank, an agent, a keeper, a PMIx server killed, a pod replaced" {
  agents_up 4
  start_job 6 8 --pods 'train-[0-3].train' --slots 2
  kill -KILL "$(rank_pid train-2)"
  next
  kill -KILL "$(agent_pid train-1)"
  "$podbox" exec train-1 -d "$musterd"
  next
  kill -KILL "$(pids_of train-3 'musterd keeper' | head -1)"
  next
  kill -KILL "$(pids_of train-3 '/muster-pmixd$' ' keeper ' | head -1)"
  next
  "$podbox" replace train-2
  "$podbox" exec train-2 -d "$musterd"
  next
  ends_well 4
  failed 1 'rank [45] on train-2.*signal 9 (SIGKILL)'
  failed 2 'member train-1.*was lost.*ranks 2-3'
  failed 3 'member train-3.*keeper'
  failed 4 'member train-3.*PMIx server'
  failed 5 'member train-2.*was lost.*ranks 4-5'
}

@test "tree: a rank, a leaf's agent killed, an inner pod replaced, then a leaf's, then both" {
  agents_up 6
  start_job 6 6 --pods 'train-[0-5].train' --slots 1 --fanout 2
  kill -KILL "$(rank_pid train-4)"
  next
  kill -KILL "$(agent_pid train-5)"
  "$podbox" exec train-5 -d "$musterd"
  next
  "$podbox" replace train-1 # the parent of train-4 and train-5
  "$podbox" exec train-1 -d "$musterd"
  next
  "$podbox" replace train-4
  "$podbox" exec train-4 -d "$musterd"
  next
  "$podbox" replace train-1
  "$podbox" replace train-5
  "$podbox" exec train-5 -d "$musterd"
  "$podbox" exec train-1 -d "$musterd"
  next
  ends_well 6
  failed 1 'rank 4 on train-4.*signal 9 (SIGKILL)'
  failed 2 'member train-5.*was lost.*rank 5 is'
  failed 3 'member train-1.*was lost.*rank 1 is'
  failed 4 'member train-4.*was lost.*rank 4 is'
}

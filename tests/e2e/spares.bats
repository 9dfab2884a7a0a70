#!/usr/bin/env bats
# Spares: members without a position take the place of lost ones at a restart, nobody else
# moves, and who comes back is a spare. --replace-hook hears of each member that is wanted.

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

# start N RUN-OPTIONS...: a job with restarts on N pods; its ranks say where they are.
start() {
  local n=$1
  shift
  lead timeout 100 "$muster" run --on-failure restart --healthy 0 --grace 1 --orphan-grace 2 \
    --link-grace 1 --pods "train-[0-$((n - 1))].train" --events /tmp/events "$@" >"$out" 2>&1 3>&- &
  job=$!
}

# What each rank runs: it says where it is, in each attempt, and ends in the one of /tmp/last.
# shellcheck disable=SC2016  # the ranks' shell expands it
ranks_say='echo "attempt $MUSTER_ATTEMPT rank $RANK on $(hostname)"
  until [ "$(cat /tmp/last 2>/dev/null)" = "$MUSTER_ATTEMPT" ]; do sleep 0.05; done'

# at ATTEMPT POD...: rank i of the attempt runs on the i-th of these pods.
at() {
  local attempt=$1 rank=0 pod
  shift
  for pod in "$@"; do wait_for 30 grep -qx "attempt $attempt rank $((rank++)) on $pod" "$out"; done
  [ "$(grep -c "^attempt $attempt rank" "$out")" = $# ]
}

agent_pid() { pids_of "$1" 'musterd$' | head -1; }
attached() { [ "$(lead grep '"attached"' /tmp/events | grep -c "\"$1.train\"")" = "$2" ]; }

@test "a pod is killed: the spare takes its position; it comes back as a spare, and serves for the next loss" {
  agents_up 4
  start 4 --spares 1 --slots 2 bash -c "$ranks_say"
  at 1 train-0 train-0 train-1 train-1 train-2 train-2
  "$podbox" replace train-1
  at 2 train-0 train-0 train-3 train-3 train-2 train-2
  grep -q '^muster: ranks 2-3: from member train-1.train .* to the spare train-3.train' "$out"
  "$podbox" exec train-1 -d "$musterd"
  wait_for 30 attached train-1 2
  "$podbox" replace train-2
  at 3 train-0 train-0 train-3 train-3 train-1 train-1
  for i in 0 1 3; do "$podbox" exec "train-$i" bash -c 'echo 3 >/tmp/last'; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
  [ "$("$podbox" logs train-0 | grep -c 'took hold')" = 1 ] # all the time the same link
}

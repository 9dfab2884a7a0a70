# Jobs that something befalls: how they are launched, what their ranks say, where they are. Load after
# helper.bash and muster.bash; jobs_setup and jobs_teardown are a test's setup and teardown.
# shellcheck disable=SC2034  # what functions set for the tests that load this
# shellcheck disable=SC2154  # muster, podbox, musterd, mpi, code: of muster.bash

# Options of each `muster run` that is launched here, and of each agent.
job_options=()
agent_options=()

# Sets out, the file for what the job prints.
jobs_setup() {
  bed_setup
  out=$BATS_TEST_TMPDIR/out
}

jobs_teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || {
    tail -n 40 "$BATS_TEST_TMPDIR"/out*
    lead tail -n 60 /tmp/events
  } || true
  bed_teardown
}

# ---- ranks ---------------------------------------------------------------------------

# What each rank runs: it says where it is, in each attempt, and ends in the one of /tmp/last.
# shellcheck disable=SC2016  # the ranks' shell expands it
ranks_say='echo "attempt $MUSTER_ATTEMPT rank $RANK on $(hostname)"
  until [ "$(cat /tmp/last 2>/dev/null)" = "$MUSTER_ATTEMPT" ]; do sleep 0.05; done'
# The same, one rank a pod: beside a rank of another attempt it says so instead.
# shellcheck disable=SC2016
ranks_alone='exec 9>/tmp/place; flock -n 9 || { echo "TWIN of $RANK"; exit 9; }
  '$ranks_say

# ranks_until N: for bash -c: they hang in MPI until attempt N, which checks its sums.
ranks_until() {
  echo "if [ \$MUSTER_ATTEMPT -lt $1 ]; then exec $mpi/hang; else exec $mpi/allreduce; fi"
}

# at ATTEMPT POD...: rank i of the attempt runs on the i-th of these pods.
at() {
  local attempt=$1 rank=0 pod
  shift
  for pod in "$@"; do wait_for 30 grep -qx "attempt $attempt rank $((rank++)) on $pod" "$out"; done
  [ "$(grep -c "^attempt $attempt rank" "$out")" = $# ]
}

# end_at ATTEMPT POD...: the ranks on these pods end in this attempt, and with them the job, well.
end_at() {
  local pod
  for pod in "${@:2}"; do "$podbox" exec "$pod" bash -c "echo $1 >/tmp/last"; done
  ends_within 30 "$job"
  [ "$code" = 0 ]
}

# ---- launchers and agents --------------------------------------------------------------

# run_job POD OUT RUN-OPTION... COMMAND...: a launcher there, in the background. Sets job, its pid
# here, and out.
run_job() {
  local pod=$1
  out=$2
  "$podbox" exec "$pod" timeout 120 "$muster" run "${job_options[@]}" "${@:3}" >"$out" 2>&1 3>&- &
  job=$!
}

# lead_job OUT RUN-OPTION... COMMAND...: train-0's container, as Kubernetes starts it: musterd --lead.
lead_job() {
  out=$1
  lead timeout 120 "$musterd" --lead -- "$muster" run "${job_options[@]}" "${@:2}" >"$out" 2>&1 3>&- &
  job=$!
}

# start PODS RUN-OPTION...: a job of these pods ("0-3"), launched in train-0, whose ranks say where they are.
start() { run_job train-0 "$out" --pods "train-[$1].train" "${@:2}" bash -c "$ranks_say"; }

# agents POD...: an agent in each.
agents() {
  local pod
  for pod in "$@"; do "$podbox" exec "$pod" -d "$musterd" "${agent_options[@]}"; done
}

# pods_but_leader N: pods with agents in all but train-0.
pods_but_leader() {
  local i
  pods_up "$1"
  for ((i = 1; i < $1; i++)); do agents "train-$i"; done
}

# Host pids in a pod: of its launcher, its agent, a rank that hangs in MPI (ranks_until), one that runs a
# script (ranks_say).
launcher_pid() { pids_of "$1" '^[0-9]+ [^ ]*muster run' | head -1; }
agent_pid() { pids_of "$1" 'musterd$' | head -1; }
rank_pid() { pids_of "$1" 'tests/mpi/hang$' 'muster run' | head -1; }
script_pid() { pids_of "$1" 'rank [$]RANK' 'muster run' | head -1; }

# kill_launcher: of the job, in train-0.
kill_launcher() {
  kill -KILL "$(launcher_pid train-0)"
  wait "$job" || true
}

# ---- the launcher's events ---------------------------------------------------------------

# happened EVENT POD N: so many times to this member.
happened() { [ "$(lead grep "\"event\":\"$1\"" /tmp/events | grep -c "\"member\":\"$2.train\"")" = "$3" ]; }
attached() { happened attached "$@"; }
lost() { happened lost "$@"; }

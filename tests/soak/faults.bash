# What can go wrong: one function `fault_KIND POSITION` for each kind, which returns when the
# fault is done with (a thaw, a heal, a replacement included), not when the job has recovered.
# Load after bed.bash.
# shellcheck disable=SC2034
# shellcheck disable=SC2154  # of bed.bash and muster.bash

# Kinds, and what the job does: `again` a further attempt; `silent` none; `either`; `anew` a further
# attempt of a further launcher, whose output is new.
declare -A fault_kinds=(
  [rank]=again [keeper]=again [pmixd]=again [agent]=again [agent_late]=again
  [container]=again [pod]=again [pods]=again [most]=again [pending]=again
  [reset]=silent [glitch]=either [cut]=again [halves]=again [freeze]=again [stopped]=again
  [vanish]=again [twin]=again
  [stale]=again [dns]=again [launcher]=anew [relaunch]=anew
)
# What may come as a second fault while the job recovers from the first.
second_kinds=(rank keeper pmixd agent pod reset)

kill_all() { [ $# -gt 0 ] && kill -KILL "$@" 2>/dev/null; }

fault_rank() {
  local pids
  mapfile -t pids < <(rank_pids "${pod_of[$1]}" | head -1)
  kill_all "${pids[@]}"
}

fault_keeper() {
  local pids
  mapfile -t pids < <(pids_of "${pod_of[$1]}" 'musterd keeper' | head -1)
  kill_all "${pids[@]}"
}

fault_pmixd() {
  local pids
  mapfile -t pids < <(pids_of "${pod_of[$1]}" '/muster-pmixd$' ' keeper ' | head -1)
  kill_all "${pids[@]}"
}

fault_agent() {
  kill_all "$(agent_pid "${pod_of[$1]}")"
  start_agent "${pod_of[$1]}"
}

# The agent comes back only when the launcher waits for it.
fault_agent_late() {
  kill_all "$(agent_pid "${pod_of[$1]}")"
  wait_for 20 state_is muster || return 1
  start_agent "${pod_of[$1]}"
}

fault_container() {
  "$podbox" restart "${pod_of[$1]}"
  start_agent "${pod_of[$1]}"
}

fault_pod() { renew "$1"; }

# Two pods die together; the second one's replacement is there first.
fault_pods() {
  local other=$((($1 + 1) % positions))
  "$podbox" kill "${pod_of[$1]}"
  "$podbox" kill "${pod_of[other]}"
  renew "$other"
  renew "$1"
}

# All but two of the pods die together.
fault_most() {
  local i
  for ((i = 0; i < positions - 2; i++)); do
    "$podbox" kill "${pod_of[($1 + i) % positions]}"
  done
  for ((i = 0; i < positions - 2; i++)); do renew $((($1 + i) % positions)); done
}

# The replacement does not come at once.
fault_pending() {
  "$podbox" kill "${pod_of[$1]}"
  wait_for 20 state_is muster || return 1
  sleep 2 # how long it is pending: the stimulus
  renew "$1"
}

fault_reset() { reset_links "${pod_of[$1]}"; }

# A silence about as long as what is tolerated: resumed or restarted, both are right.
fault_glitch() {
  "$podbox" cut "${pod_of[$1]}"
  sleep 3 # the stimulus
  "$podbox" heal "${pod_of[$1]}"
}

fault_cut() {
  "$podbox" cut "${pod_of[$1]}"
  wait_for 20 state_is muster || return 1
  "$podbox" heal "${pod_of[$1]}"
}

# Half of the pods cannot be reached, not by each other either.
fault_halves() {
  local i
  for ((i = 0; i < positions / 2; i++)); do "$podbox" cut "${pod_of[($1 + i) % positions]}"; done
  wait_for 20 state_is muster || return 1
  for ((i = 0; i < positions / 2; i++)); do "$podbox" heal "${pod_of[($1 + i) % positions]}"; done
}

# A node goes without a word; its pod's replacement is all that tells.
fault_vanish() {
  "$podbox" cut "${pod_of[$1]}"
  renew "$1"
}

# The agent alone is stopped: its ranks run on, and nobody ends them until it goes on.
fault_stopped() {
  local pid
  pid=$(agent_pid "${pod_of[$1]}")
  kill -STOP "$pid"
  wait_for 20 state_is muster || return 1
  kill -CONT "$pid"
}

fault_freeze() {
  "$podbox" freeze "${pod_of[$1]}"
  wait_for 20 state_is muster || return 1
  "$podbox" thaw "${pod_of[$1]}"
}

# A frozen pod thaws beside the one that stands in for it, and ends its ranks.
fault_twin() {
  local old=${pod_of[$1]} before
  before=$(attempt_now)
  frozen=$old
  "$podbox" freeze "$old"
  wait_for 20 state_is muster || return 1
  pod_of[$1]=$stand_in
  stand_in=$old
  point "${pod_of[$1]}"
  wait_for "$bound" runs "$before" || return 1
  "$podbox" thaw "$old"
  wait_for 20 eval '[ -z "$(rank_pids "$stand_in")" ]'
}

# DNS goes on to give the dead pod's address.
fault_stale() {
  local old
  old=$("$podbox" ip "${pod_of[$1]}")
  "$podbox" kill "${pod_of[$1]}"
  wait_for 20 state_is muster || return 1
  renew "$1"
  "$podbox" dns set "train-$1.$domain" A "$old"
  sleep 2 # how long it is stale: the stimulus
  "$podbox" dns set "train-$1.$domain" A "$("$podbox" ip "${pod_of[$1]}")"
}

# DNS is silent while a pod is replaced.
fault_dns() {
  "$podbox" kill "${pod_of[$1]}"
  renew "$1"
  "$podbox" dns silence
  sleep 2 # the stimulus
  "$podbox" dns start
}

# The launcher dies; when the agents have ended the ranks by themselves another one takes over.
fault_launcher() {
  kill_all "$(launcher_pid)"
  wait_for 20 gone "$job" || return 1
  wait_for 20 eval '[ -z "$(for p in "${pod_of[@]}"; do rank_pids "$p"; done)" ]' || return 1
  start_job "$shape" "$pause_ms"
}

# Another one at once, as when Kubernetes starts the launcher's container again: the ranks still run.
fault_relaunch() {
  kill_all "$(launcher_pid)"
  wait_for 20 gone "$job" || return 1
  start_job "$shape" "$pause_ms"
}

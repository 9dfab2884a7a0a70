# What can go wrong: one function `fault_KIND POSITION` for each kind, which returns when the
# fault is done with (a thaw, a heal, a replacement included), not when the job has recovered.
# Load after bed.bash.
# shellcheck disable=SC2034
# shellcheck disable=SC2154  # of bed.bash and muster.bash

# Kinds, and what the job does: `again` a further attempt; `silent` none; `either`; `anew` it is over,
# and another one has begun.
declare -A fault_kinds=(
  [rank]=again [deaf]=again [holder]=again [keeper]=again [pmixd]=again [agent]=again [agent_late]=again
  [container]=again [pod]=again [pods]=again [most]=again [pending]=again [order]=again
  [reset]=silent [glitch]=either [blink]=either [cut]=again [halves]=again [freeze]=again [stopped]=again
  [vanish]=again [twin]=again [terminating]=again [beside]=again [reuse]=again [reuse_job]=again
  [stale]=again [dns]=again [same]=anew
  [spare]=again [spare_idle]=silent [spare_spent]=again
  [launcher]=again [relaunch]=again [deposed]=again [lapse]=either
  [led]=again [leader]=again [leader_pod]=again
)
# Where not in all settings of a job (bed.bash): in which.
declare -A fault_settings=(
  [beside]=plain [reuse]=plain [reuse_job]=plain [twin]='plain spare' [terminating]='plain spare'
  [spare]=spare [spare_idle]=spare [spare_spent]=spare
  [launcher]='plain spare' [relaunch]='plain spare' [deposed]='plain spare' [lapse]='plain spare'
  [led]=lead [leader]=lead [leader_pod]=lead
)
# Not at position 0 where the launcher is there: they wait for what it does meanwhile.
fault_not_leader=' agent_late pending freeze stale '
# What may come as a second fault while the job recovers from the first.
second_kinds=(rank keeper pmixd agent container pod reset glitch blink)

# fault_weight KIND: so that all kinds are as likely, over jobs of all settings.
fault_weight() {
  local settings
  read -ra settings <<<"${fault_settings[$1]:-plain spare lead}"
  echo $((6 / ${#settings[@]}))
}

# fault_fits KIND SETTING
fault_fits() { [[ " ${fault_settings[$1]:-$2} " == *" $2 "* ]]; }

kill_all() { [ $# -gt 0 ] && kill -KILL "$@" 2>/dev/null; }

# ---- processes -----------------------------------------------------------------------

fault_rank() {
  local pids
  mapfile -t pids < <(rank_pids "${pod_of[$1]}" | head -1)
  kill_all "${pids[@]}"
}

# A rank that ignores SIGTERM, when another one dies.
fault_deaf() {
  local line
  line=$(lines_now)
  kill -USR2 "$(rank_pids "${pod_of[$1]}" | head -1)"
  wait_for 20 said "$line" 'ignores SIGTERM' || return 1
  fault_rank $((($1 + 1) % positions))
}

# A rank that dies leaves a process that has left its session, and holds the master port.
fault_holder() {
  local line pid
  line=$(lines_now) pid=$(rank_pids "${pod_of[$1]}" | head -1)
  kill -USR1 "$pid"
  wait_for 20 said "$line" 'port [0-9]* is held' || return 1
  kill_all "$pid"
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

# The agent comes back only when the launcher musters again.
fault_agent_late() {
  kill_all "$(agent_pid "${pod_of[$1]}")"
  wait_for 20 musters || return 1
  start_agent "${pod_of[$1]}"
}

# The agent alone is stopped: its ranks run on, and nobody ends them until it goes on.
fault_stopped() {
  local pid
  pid=$(agent_pid "${pod_of[$1]}")
  kill -STOP "$pid"
  wait_for 20 musters || return 1
  kill -CONT "$pid"
}

# ---- pods ----------------------------------------------------------------------------

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
  wait_for 20 musters || return 1
  sleep 2 # how long it is pending: the stimulus
  renew "$1"
}

# An operator has a member replaced.
fault_order() {
  local from=${pod_of[($1 + 1) % positions]}
  timeout 20 "$podbox" exec "$from" "$muster" replace "$(name_at "$1")" --reason soak || return 1
  renew "$1"
}

fault_freeze() {
  "$podbox" freeze "${pod_of[$1]}"
  wait_for 20 musters || return 1
  "$podbox" thaw "${pod_of[$1]}"
}

# About as long as what is tolerated: resumed or restarted, both are right.
fault_blink() {
  "$podbox" freeze "${pod_of[$1]}"
  sleep 3 # the stimulus
  "$podbox" thaw "${pod_of[$1]}"
}

# ---- spares and stand-ins --------------------------------------------------------------

# A pod dies, the spare takes over; then there is a spare again.
fault_spare() {
  local before
  before=$(attempt_now)
  "$podbox" kill "${pod_of[$1]}"
  wait_for "$bound" runs "$before" || return 1
  renew "$1"
}

fault_spare_idle() { renew_pod "$stand_in"; }

# No spare is left, and the one that comes first may be either's replacement.
fault_spare_spent() {
  "$podbox" kill "$stand_in"
  "$podbox" kill "${pod_of[$1]}"
  wait_for 20 musters || return 1
  renew "$1"
  renew_pod "$stand_in"
}

# A frozen pod thaws beside the one that has its position now, and ends its ranks.
fault_twin() {
  local old=${pod_of[$1]} before
  before=$(attempt_now)
  frozen=$old
  "$podbox" freeze "$old"
  wait_for 20 musters || return 1
  [ "$setting" = spare ] || stand_in_at "$1"
  wait_for "$bound" runs "$before" || return 1
  "$podbox" thaw "$old"
  wait_for 20 eval '[ -z "$(rank_pids "'"$old"'")" ]'
}

# A pod is told to end, as by its deletion, and stays for ever beside the one that has its position.
fault_terminating() {
  local old=${pod_of[$1]} before
  before=$(attempt_now)
  kill -TERM "$(agent_pid "$old")"
  wait_for 20 musters || return 1
  [ "$setting" = spare ] || stand_in_at "$1"
  wait_for "$bound" runs "$before" || return 1
  start_agent "$old" # as a stand-in, or a spare
}

# As twin, of a pod that cannot be reached, and runs: its ranks end before those in its place begin.
fault_beside() {
  local old=${pod_of[$1]} before
  before=$(attempt_now)
  "$podbox" cut "$old"
  wait_for 20 musters || return 1
  stand_in_at "$1"
  wait_for "$bound" runs "$before" || return 1
  wait_for 20 eval '[ -z "$(rank_pids "'"$old"'")" ]' || return 1
  "$podbox" heal "$old"
}

# A dead pod's address is given to a pod of another group, which has another key.
fault_reuse() {
  local before old=${pod_of[$1]}
  before=$(attempt_now)
  "$podbox" replace "$old" --same-address
  "$podbox" exec "$old" -d "$musterd" --key "$strangers_key"
  wait_for 20 musters || return 1
  stand_in_at "$1"
  wait_for "$bound" runs "$before" || return 1
  renew_pod "$old" # a stand-in again
}

# It is given to a pod of another job, which has the same key, an agent and a launcher of its own: nobody
# takes it for the one that died, and it goes on to its good end.
fault_reuse_job() {
  local before old=${pod_of[$1]} other rank
  before=$(attempt_now)
  "$podbox" unready "$old"
  "$podbox" replace "$old" --same-address
  nsenter -t "$("$podbox" pid "$old")" -u hostname other-0
  start_agent "$old"
  "$podbox" exec "$old" "$muster" run --host "$("$podbox" ip "$old"):1" --pmi none \
    bash -c 'exec -a rank-other bash -c "until [ -e /tmp/over ]; do sleep 0.1; done"' >"$work/other" 2>&1 3>&- &
  other=$!
  wait_for 20 other_rank "$old" && rank=$(other_rank "$old") || return 1
  wait_for 30 waits_for "$1" "is another pod's now: the agent there is that of host 'other-0'" || return 1
  stand_in_at "$1"
  wait_for "$bound" runs "$before" || return 1
  [ -z "$(rank_pids "$old")" ] && [ "$(other_rank "$old")" = "$rank" ] || return 1
  "$podbox" exec "$old" touch /tmp/over
  ends_within 20 "$other" && [ "$code" = 0 ] || return 1
  renew_pod "$old" # a stand-in again
}

# other_rank POD: pid; 1 where there is none. (Its child looks like it until it is sleep.)
other_rank() { pids_of "$1" 'rank-other' ' bash -c exec' | sort -n | head -1 | grep .; }

# ---- the network -----------------------------------------------------------------------

fault_reset() { reset_links "${pod_of[$1]}"; }

# A silence about as long as what is tolerated: resumed or restarted, both are right.
fault_glitch() {
  "$podbox" cut "${pod_of[$1]}"
  sleep 3 # the stimulus
  "$podbox" heal "${pod_of[$1]}"
}

fault_cut() {
  "$podbox" cut "${pod_of[$1]}"
  wait_for 20 musters || return 1
  "$podbox" heal "${pod_of[$1]}"
}

# Half of the pods cannot be reached, not by each other either.
fault_halves() {
  local i
  for ((i = 0; i < positions / 2; i++)); do "$podbox" cut "${pod_of[($1 + i) % positions]}"; done
  wait_for 20 musters || return 1
  for ((i = 0; i < positions / 2; i++)); do "$podbox" heal "${pod_of[($1 + i) % positions]}"; done
}

# A node goes without a word; its pod's replacement is all that tells.
fault_vanish() {
  "$podbox" cut "${pod_of[$1]}"
  renew "$1"
}

# DNS goes on to give the dead pod's address.
fault_stale() {
  local old name
  old=$("$podbox" ip "${pod_of[$1]}") name=$(name_at "$1").$domain
  "$podbox" kill "${pod_of[$1]}"
  wait_for 20 musters || return 1
  renew "$1"
  "$podbox" dns set "$name" A "$old"
  sleep 2 # how long it is stale: the stimulus
  "$podbox" dns set "$name" A "$("$podbox" ip "${pod_of[$1]}")"
}

# DNS is silent while a pod is replaced.
fault_dns() {
  "$podbox" kill "${pod_of[$1]}"
  renew "$1"
  "$podbox" dns silence
  sleep 2 # the stimulus
  "$podbox" dns start
}

# ---- the launcher ----------------------------------------------------------------------

# The launcher dies; when the agents have ended the ranks by themselves another one takes over.
fault_launcher() {
  kill_all "$(launcher_pid)"
  wait_for 20 gone "$job" || return 1
  wait_for 20 eval '[ -z "$(for p in "${pod_of[@]}"; do rank_pids "$p"; done)" ]' || return 1
  start_launcher
}

# Another one at once, as when Kubernetes starts the launcher's container again: the ranks still run.
fault_relaunch() {
  kill_all "$(launcher_pid)"
  wait_for 20 gone "$job" || return 1
  start_launcher
}

# A launcher that was frozen thaws beside the one that has taken the job over, and stands down.
fault_deposed() {
  local before old=$job pid code
  before=$(attempt_now) pid=$(launcher_pid)
  kill -STOP "$pid"
  start_launcher
  wait_for "$bound" runs "$before" || return 1
  kill -CONT "$pid"
  ends_within 20 "$old" && [ "$code" = 125 ]
}

# The launcher does nothing for about as long as agents tolerate.
fault_lapse() {
  local pid
  pid=$(launcher_pid)
  kill -STOP "$pid"
  sleep 3 # the stimulus
  kill -CONT "$pid"
}

# musterd --lead starts it again.
fault_led() { kill_all "$(launcher_pid)"; }

fault_leader() { fault_container 0; }
fault_leader_pod() { fault_pod 0; }

# ---- the job itself --------------------------------------------------------------------

# The same rank ends the same way at the same step, three times: the job gives up, and says why. The
# job before has its good end first, and another one follows.
fault_same() {
  local was=$setting n
  stop_job
  end_of_job && result_right || return 1
  rest
  setting=$was
  job_options=(--same-failures 3 --healthy 300)
  start_job "$shape" 1000 # the first checkpoint is far away
  job_options=()
  for n in 1 2 3; do
    wait_for "$bound" runs $((n - 1)) && wait_for "$bound" ranks_right || return 1
    fault_rank "$1"
  done
  ends_within "$bound" "$job" && gave_up "$1" || return 1
  rest
  wait_for "$bound" idle_right || return 1
  setting=$was
  start_job "$shape" "$pause_ms"
}

# gave_up RANK: the job, after three attempts that all began at step 0.
gave_up() {
  [ "$code" = 137 ] && [ "$(grep -c '^attempt [123] runs from step 0$' "$out")" = 3 ] &&
    grep -q "^muster.*: rank $1 on .*signal 9 (SIGKILL).*the same failure of the same rank ended 3 attempts in a row" "$err" &&
    grep -q 'gave up at attempt 3, after 2 restarts' "$err"
}

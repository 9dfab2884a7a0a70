# A training job of 8 pods that faults are struck on, one after the other, each on purpose: in a
# star, and in a tree of fan-out 2, depth 3. Load after helper.bash and muster.bash.
#
# Bed and job are those of tests/soak (bed.bash), where random ones are struck; the kinds of
# faults.bash there can be struck here, too. In the tree position 0 has 2 and 3 below it, 1 has 4 and 5,
# 2 has 6 and 7.
# shellcheck disable=SC2034  # what functions set for those that load this
# shellcheck disable=SC2154  # of muster.bash and bed.bash

load ../soak/bed
load ../soak/faults

# faults_setup, faults_teardown: of each test.
faults_setup() {
  bed_setup
  work=$BATS_TEST_TMPDIR bound=60 pause_ms=50
  beds=$PODBOX_BED logs=$work
}

faults_teardown() {
  local shape
  [ -n "${beds:-}" ] || return 0
  [ -z "${star:-}" ] || gone "$star" || kill "$star"
  for shape in star tree; do
    [ -n "${BATS_TEST_COMPLETED:-}" ] ||
      tail -n 20 "$logs/$shape.log" "$logs/$shape"/{out,err,ckpt/events} 2>/dev/null || :
    PODBOX_BED=$beds-$shape
    bed_teardown
  done
}

# in_both_shapes FUNCTION [PODS]: a job in a star of so many (4) and one in a tree of 8 pods, each in a
# bed of its own, side by side: most of the time goes by in waiting for silence to be noticed.
in_both_shapes() {
  (
    trap faultdns_stop EXIT
    one_shape star "${2:-4}" "$1"
  ) >"$work/star.log" 2>&1 3>&- &
  star=$!
  one_shape tree 8 "$1"
  wait "$star"
}

# in_a_tree FUNCTION [PODS], in_a_star FUNCTION: in one shape; in both with MUSTER_LONG=1.
in_a_tree() { one_or_both tree 8 "$@"; }
in_a_star() { one_or_both star 4 "$@"; }

# one_or_both SHAPE PODS FUNCTION [PODS]
one_or_both() {
  if is_long; then
    in_both_shapes "${@:3}"
  else
    echo "# in a $1 alone, and not all faults: MUSTER_LONG=1 strikes the others" >&3
    one_shape "${@:1:3}"
  fi
}

# one_shape SHAPE PODS FUNCTION: the job goes through the function's faults. $prepare, a function: once
# the bed is there.
one_shape() {
  PODBOX_BED=$PODBOX_BED-$1
  work=$work/$1
  BATS_TEST_TMPDIR=$work
  mkdir "$work"
  soak_bed "$2" 1
  wait_for 20 idle_right # how many descriptors an agent has
  shape=$1
  "${prepare:-:}"
  begin "$1"
  "$3"
  finish
}

is_long() { [ -n "${MUSTER_LONG:-}" ]; }

# begin SHAPE: a job, all of whose ranks write checkpoints; agents' descriptors are learnt.
begin() {
  start_job "$1" "$pause_ms"
  wait_for "$bound" moves 0 0
  wait_for "$bound" all_stand_by "$positions"
  learn_fds
}

# strike COST FAULT POSITION...: so many attempts later the ranks write checkpoints again, and
# all that must hold does. Sets before, the number of the last attempt, and marks the events.
strike() {
  local line cost=$1
  before=$(attempt_now) line=$(lines_now)
  stuck=nowhere
  mark
  echo "$(ms) $shape: ${*:2}, at attempt $before"
  "fault_$2" "${@:3}"
  wait_for "$bound" moves $((before + cost - 1)) "$line"
  [ "$(attempt_now)" = $((before + cost)) ]
  clean "$line"
}

# clean LINE: of the job that runs: on each pod its ranks, a keeper and a PMIx server, and nothing
# else; hosts and hostfile; as many descriptors of agents and launcher as at its beginning; no rank has
# met another one of its number behind this line of the output, but for one that is stuck in the
# pod $stuck.
clean() {
  wait_for "$bound" ranks_right
  wait_for "$bound" "${files_right:-roll_right}"
  wait_for "$bound" fds_flat
  [ -z "$(twins "$1" "$stuck")" ]
}

# because TEXT: the cause of the failed attempt, the first one since the last strike, with its time.
because() {
  told '"event": *"attempt-failed"' | head -1 | tee "$work/cause" | grep -qE -- "$1" ||
    { cat "$work/cause"; return 1; }
  grep -qE '"time": *"[0-9-]+T[0-9:]+\.[0-9]{3}Z"' "$work/cause"
}

# finish: the job ends at its next checkpoint, its result is the undisturbed one, and nothing is left;
# all agents have as many descriptors.
finish() {
  stop_job
  end_of_job
  result_right
  wait_for "$bound" idle_right
}

# ---- the events ----------------------------------------------------------------------

# told PATTERN: the events since the mark that match.
told() { tail -n +$((events_then + 1)) "$events" | grep -E -- "$1"; }

# state_is STATE: the launcher's.
state_is() {
  [ "$(tac "$events" | grep -m1 -o '"to": *"[a-z]*"' | cut -d'"' -f4)" = "$1" ]
}

# lost POSITION, attached POSITION: it was so since the mark.
lost() { told '"event": *"lost"' | grep -q "\"train-$1.train\""; }
attached() { told '"event": *"attached"' | grep -q "\"train-$1.train\""; }

# kill_agent POSITION: and the launcher has heard of it.
kill_agent() {
  wait_for 20 has_read "${pod_of[$1]}"
  kill_all "$(agent_pid "${pod_of[$1]}")"
  wait_for 20 lost "$1"
}

agent_back() { start_agent "${pod_of[$1]}"; }

# in_state STATE: the agent of a second failure has to be lost in it.
in_state() {
  told '"event": *"(state|lost)"' >"$work/order"
  awk -v s="$1" -v m="train-$2.train" '
    /"event": *"state"/ { match($0, /"to": *"[a-z]+"/); to = substr($0, RSTART, RLENGTH); gsub(/"to"|[ :"]/, "", to) }
    /"event": *"lost"/ && index($0, "\"" m "\"") { last = to } END { exit last != s }' "$work/order" ||
    { echo "train-$2 was not lost in $1:" && cat "$work/order"; return 1; }
}

# ---- a second failure in each phase ----------------------------------------------------
# Each phase lasts as long as somebody in it is stopped (SIGSTOP).

# keeper_of POSITION: of the ranks there.
keeper_of() { pids_of "${pod_of[$1]}" 'musterd keeper' | head -1; }

# fault_in_stop RANKS AGENT HELD
fault_in_stop() {
  local held
  held=$(keeper_of "$3")
  kill -STOP "$held"
  fault_rank "$1"
  wait_for 20 state_is stop
  kill_agent "$2"
  in_state stop "$2"
  kill -CONT "$held"
  agent_back "$2"
}

# fault_in_muster FIRST AGENT
fault_in_muster() {
  kill_agent "$1"
  wait_for 20 state_is muster
  kill_agent "$2"
  in_state muster "$2"
  agent_back "$2"
  agent_back "$1"
}

# hold_prepare FIRST HELD: FIRST's agent was lost and is back, HELD's is stopped (held, its pid).
hold_prepare() {
  kill_agent "$1"
  wait_for 20 state_is muster
  held=$(agent_pid "${pod_of[$2]}")
  kill -STOP "$held"
  agent_back "$1"
  wait_for 20 state_is prepare
}

# fault_in_prepare FIRST AGENT HELD
fault_in_prepare() {
  local held
  hold_prepare "$1" "$3"
  kill_agent "$2"
  in_state prepare "$2"
  kill -CONT "$held"
  agent_back "$2"
}

# prepared_keeper POSITION: sets keeper, of an attempt that is prepared and not begun.
prepared_keeper() {
  local pmixd
  pmixd=$(pids_of "${pod_of[$1]}" '/muster-pmixd$' ' keeper ')
  [ -n "$pmixd" ] && keeper=$(ps -o ppid= -p "$pmixd" | tr -d ' ') && [ -n "$keeper" ]
}

# fault_in_go FIRST AGENT HELD SLOW: SLOW's ranks are not forked.
fault_in_go() {
  local held keeper
  hold_prepare "$1" "$3"
  wait_for 20 prepared_keeper "$4"
  prepared_keeper "$4"
  kill -STOP "$keeper"
  kill -CONT "$held"
  wait_for 20 state_is start
  kill_agent "$2"
  in_state start "$2"
  kill -CONT "$keeper"
  agent_back "$2"
}

# Of the launcher that follows. fault_in_connect AGENT HELD
fault_in_connect() {
  local held
  held=$(agent_pid "${pod_of[$2]}")
  kill -STOP "$held"
  fault_relaunch
  wait_for 20 attached "$1"
  kill_agent "$1"
  in_state connect "$1"
  agent_back "$1"
  kill -CONT "$held"
}

# fault_in_claim AGENT HELD
fault_in_claim() {
  local held
  held=$(keeper_of "$2")
  kill -STOP "$held"
  fault_relaunch
  wait_for 20 state_is claim
  kill_agent "$1"
  in_state claim "$1"
  kill -CONT "$held"
  agent_back "$1"
}

# hold_inspect FIRST HELD: FIRST's rank is killed, and all are inspected, as long as HELD's check waits.
hold_inspect() {
  : >"$ckpt/check.hold.train-$2.train"
  fault_rank "$1"
  wait_for 20 state_is inspect
  wait_for 20 check_runs "$2"
}

check_runs() { [ "$(checks_at "$1" | wc -l)" = 1 ]; }
checks_at() { pids_of "${pod_of[$1]}" "sh $ckpt/check"; }
go_on() { rm "$ckpt/check.hold.train-$1.train"; }

# fault_in_inspect_agent FIRST AGENT HELD
fault_in_inspect_agent() {
  hold_inspect "$1" "$3"
  kill_agent "$2"
  in_state inspect "$2"
  agent_back "$2"
  wait_for 20 attached "$2"
  go_on "$3"
}

# fault_in_inspect_pod FIRST POD HELD
fault_in_inspect_pod() {
  hold_inspect "$1" "$3"
  "$podbox" kill "${pod_of[$2]}"
  wait_for 20 lost "$2"
  in_state inspect "$2"
  renew "$2"
  go_on "$3"
}

# The next launcher inspects anew; the check of the one before ends. fault_in_inspect_launcher FIRST HELD
fault_in_inspect_launcher() {
  local old
  hold_inspect "$1" "$2"
  old=$(checks_at "$2")
  fault_relaunch
  wait_for 30 told '"to": *"claim"'
  wait_for 30 state_is inspect
  wait_for 20 check_runs "$2"
  [ "$(checks_at "$2")" != "$old" ]
  go_on "$2"
}

# ---- pods ------------------------------------------------------------------------------

# One pod's replacement is Pending, and of another one that is there DNS has the old address; no
# restart is used up meanwhile, and no agent is touched. fault_pending_and_stale PENDING STALE
fault_pending_and_stale() {
  local name=${pod_of[$2]}.$domain old agents
  old=$("$podbox" ip "${pod_of[$2]}")
  "$podbox" unready "${pod_of[$2]}"
  "$podbox" dns set "$name" A "$old"
  "$podbox" kill "${pod_of[$1]}"
  "$podbox" kill "${pod_of[$2]}"
  wait_for 20 eval "lost $1 && lost $2 && state_is muster"
  "$podbox" replace "${pod_of[$2]}"
  agent_back "$2"
  agents=$(agents_but "$1")
  sleep "$(is_long && echo 60 || echo 4)" # how long it is so: the stimulus
  state_is muster
  [ "$(told '"event": *"attempt-failed"' | wc -l)" = 1 ]
  [ "$(agents_but "$1")" = "$agents" ]
  "$podbox" dns set "$name" A "$("$podbox" ip "${pod_of[$2]}")"
  "$podbox" ready "${pod_of[$2]}"
  wait_for 30 attached "$2"
  state_is muster
  renew "$1"
}

# agents_but POSITION: pids of the agents at all others.
agents_but() {
  local i
  for ((i = 0; i < positions; i++)); do
    [ "$i" = "$1" ] || agent_pid "${pod_of[i]}"
  done
}

# A pod is stuck (its node hangs), Terminating for ever, and a Service that publishes pods that are
# not ready lists both: their name has two addresses (faultdns.bash). The job goes on with the
# replacement, also over a further restart. When the old pod thaws it ends its ranks, and touches nobody.
fault_stuck() {
  local ranks
  stuck=${pod_of[$1]}
  "$podbox" freeze "$stuck"
  wait_for 20 state_is muster
  faultdns_set "pods.train-$1=[\"$("$podbox" ip "$stuck")\", \"$("$podbox" ip "$stand_in")\"]"
  pod_of[$1]=$stand_in stand_in=$stuck
  wait_for "$bound" runs "$before"
  [ -n "$(rank_pids "$stuck")" ]
  fault_rank $((($1 + 1) % positions))
  wait_for "$bound" runs $((before + 1))
  ranks=$(all_ranks)
  "$podbox" thaw "$stuck"
  wait_for 20 eval "[ -z \"\$(rank_pids $stuck)\" ]"
  [ "$(all_ranks)" = "$ranks" ]
  faultdns_set "pods.train-$1=$("$podbox" ip "${pod_of[$1]}")"
}

# all_ranks: pids, by position.
all_ranks() {
  local pod
  for pod in "${pod_of[@]}"; do rank_pids "$pod"; done
}

# last_log POD: of the agent that began last.
last_log() { "$podbox" logs "$1" | awk '/ listens on / { text = "" } { text = text $0 "\n" } END { printf "%s", text }'; }

# The dead pod's address is another group's: an agent with another key listens there, and refuses.
fault_other_key() {
  local old=${pod_of[$1]}
  "$podbox" replace "$old" --same-address
  "$podbox" exec "$old" -d "$musterd" --key "$strangers_key"
  wait_for 30 waits_for "$1" 'not in the key ring of this group'
  stand_in_at "$1"
  wait_for "$bound" runs "$before"
  look "$old"
  [ "${#ranks_there[@]} $keepers_there $servers_there" = '0 0 0' ]
  [[ $(last_log "$old") != *'took hold'* ]]
  end_agent "$old"
  start_agent "$old" # stands by again
}

# ---- a group of addresses --------------------------------------------------------------

# addresses: of the pods at the positions.
addresses() {
  local pod
  for pod in "${pod_of[@]}"; do "$podbox" ip "$pod"; done
}

# hostfile_right: in each pod it has the addresses of the positions, in order. Nobody has a name for
# hosts.
hostfile_right() {
  local pod want files=()
  want=$(addresses)
  for pod in "${pod_of[@]}"; do files+=("/proc/$(agent_pid "$pod")/root/tmp/hostfile"); done
  [ "$(rolls_in 0 "${files[@]}")" = "$(for pod in "${pod_of[@]}"; do echo "$want"; done)" ]
}

# list_addresses: the ConfigMap's hostfile has them as they are now.
list_addresses() {
  addresses | sed "s/\$/ slots=$slots/" >"$work/cm/hostfile"
  "$podbox" volume put group "$work/cm" >/dev/null
}

# Two members that have no names are replaced at once, and listed in the order of their positions.
fault_two_addresses() {
  "$podbox" kill "${pod_of[$1]}"
  "$podbox" kill "${pod_of[$2]}"
  "$podbox" replace "${pod_of[$1]}"
  "$podbox" replace "${pod_of[$2]}"
  list_addresses
  agent_back "$2"
  agent_back "$1"
}

# ---- launchers ---------------------------------------------------------------------------

# The launcher and half of the positions are cut off; a launcher of the other half has no majority.
fault_halves_and_launchers() {
  local i
  for ((i = 0; i < positions / 2; i++)); do "$podbox" cut "${pod_of[i]}"; done
  "$podbox" cut "$launchers_pod"
  run -125 timeout 60 "$podbox" exec "${pod_of[positions - 1]}" "$muster" run --job "soak-$job_number" \
    --wait 1 --pods "train-[$((positions / 2))-$((positions - 1))].train" --slots "$slots" "$mpi/ckpt" "$ckpt"
  [[ $output == *"only $((positions / 2)) of the $positions positions that it had last are here, no majority"* ]]
  wait_for 20 state_is muster
  for ((i = 0; i < positions / 2; i++)); do "$podbox" heal "${pod_of[i]}"; done
  "$podbox" heal "$launchers_pod"
}

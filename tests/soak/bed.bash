# A bed for jobs that are disturbed: pods, a launcher's pod of its own, and one training job
# (tests/mpi/ckpt.c) at a time. Load after helper.bash and muster.bash; needs $work, a
# directory, and $bound, the seconds that a recovery may take at most.
#
# The group is train-0 ... of `positions` pods. Which pod stands at a position can change: one
# more pod stands in where one is frozen, and DNS says so. The launcher is outside of the group,
# so that every pod of it may die.
# shellcheck disable=SC2034  # what functions set for those that load this
# shellcheck disable=SC2154  # muster, podbox, musterd, mpi: of muster.bash

domain=train.default.svc.cluster.local

# soak_bed POSITIONS SLOTS
soak_bed() {
  job_number=1
  positions=$1 slots=$2 ranks=$(($1 * $2))
  stand_in=train-$positions
  stands_by=$stand_in # at the beginning of each job
  launchers_pod=train-$((positions + 1))
  pod_of=()
  local i
  for ((i = 0; i < positions; i++)); do pod_of[i]=train-$i; done
  ckpt=$work/ckpt out=$work/out err=$work/err events=$work/ckpt/events
  mkdir -p "$ckpt"
  BATS_TEST_TMPDIR=$work pods_up $((positions + 2)) --share "$ckpt"
  for ((i = 0; i <= positions; i++)); do start_agent "train-$i"; done
  "$podbox" unready "$stand_in"
  wait_for 60 all_stand_by $((positions + 1))
}

# start_agent POD: one that keeps the pod's hosts and a hostfile as the launcher says.
start_agent() { "$podbox" exec "$1" -d "$musterd" --hosts --write plain:/tmp/hostfile; }

# start_job star|tree PAUSE_MS [STEPS]: from the checkpoint that is there; the job of the launcher
# before, until `rest`. Sets job, its pid here. Can be set before: `members`, the source's options
# (names of pods); `around`, a program that executes the ranks' one.
start_job() {
  run_options "$1"
  rm -f "$ckpt/stop"
  : >"$out"
  "$podbox" exec "$launchers_pod" "$muster" run "${run_options[@]}" "${around[@]}" \
    "$mpi/ckpt" "$ckpt" 10 "${@:2}" >>"$out" 2>>"$err" 3>&- &
  job=$!
}

# run_options star|tree: sets run_options, and shape.
run_options() {
  shape=$1
  run_options=(--job "soak-$job_number" --slots "$slots" --on-failure restart --max-restarts 1000
    --same-failures 0 --healthy 0 --grace 1 --orphan-grace 2 --link-grace 1 --replace-timeout 60
    --wait 60 --events "$events" -x OMPI_MCA_mpi_yield_when_idle=1)
  [ "$shape" = star ] || run_options+=(--fanout 2)
  if [ -n "${members+set}" ]; then
    run_options+=("${members[@]}")
  else
    run_options+=(--pods "train-[0-$((positions - 1))].train")
  fi
}

launcher_pid() { pids_of "$launchers_pod" '^[0-9]+ [^ ]*launcher/muster run' | head -1; }
rank_pids() { pids_of "$1" '^[0-9]+ [^ ]*mpi/ckpt '; }
agent_pid() { pids_of "$1" '/musterd( |$)' | head -1; }

# point POD: DNS has, for each position, the address of the pod that stands there. The Service lists
# POD, which stands in from now on, and not the one that stands in nowhere, as endpoints do: its
# addresses tell that something moved. podbox gives both their own names back, or takes them; so
# all names that are another pod's are set again.
point() {
  "$podbox" unready "$stand_in"
  "$podbox" dns del "$1.$domain"
  "$podbox" ready "$1"
  point_names
}

point_names() {
  local i
  for ((i = 0; i < positions; i++)); do
    [ "${pod_of[i]}" = "train-$i" ] ||
      "$podbox" dns set "train-$i.$domain" A "$("$podbox" ip "${pod_of[i]}")"
  done
}

# renew POSITION: a new pod of the same name with an agent in it.
renew() {
  "$podbox" replace "${pod_of[$1]}"
  point_names
  start_agent "${pod_of[$1]}"
}

# ---- what the job says ---------------------------------------------------------------

# state_is STATE: the launcher's, by its events.
state_is() {
  [ "$(tac "$events" 2>/dev/null | grep -m1 -o '"to": *"[a-z]*"' | cut -d'"' -f4)" = "$1" ]
}

# attempt_now: the last one whose ranks are all past MPI_Init; 0 where none is.
attempt_now() {
  awk '/^attempt [0-9]+ runs/ { n = $2 } END { print n + 0 }' "$out"
}

# runs AFTER: an attempt later than this.
runs() { [ "$(attempt_now)" -gt "$1" ]; }

# moves AFTER LINE: such an attempt wrote a checkpoint, told behind this line of the output.
moves() {
  awk -v a="$1" -v l="$2" 'NR > l && /^attempt [0-9]+ step/ && $2 > a { ok = 1 } END { exit !ok }' "$out"
}

lines_now() { wc -l <"$out"; }

# reset_links POD: its agent's connections are reset, as by a firewall that forgets them.
reset_links() {
  local pid
  pid=$("$podbox" pid "$1")
  [ -n "$(timeout 10 nsenter -n -t "$pid" ss -KHtn 'sport = :7822' 2>/dev/null)" ]
}

# ---- what must hold ------------------------------------------------------------------

# parts_of POD: how many ranks, keepers and PMIx servers of a job are there.
parts_of() {
  processes "$1" | awk '/^[0-9]+ [^ ]*mpi\/ckpt / { r++ } / musterd keeper / { k++; next } /\/muster-pmixd$/ { p++ }
    END { print r + 0, k + 0, p + 0 }'
}

# ranks_right: where a position is, its ranks, a keeper and a PMIx server; elsewhere nothing.
ranks_right() {
  local pod
  for pod in "${pod_of[@]}"; do
    [ "$(parts_of "$pod")" = "$slots 1 1" ] || return 1
  done
  [ "$(parts_of "$stand_in")" = '0 0 0' ]
}

# fds_of POD: of its agent.
fds_of() { find "/proc/$(agent_pid "$1")/fd" -mindepth 1 2>/dev/null | wc -l; }

# learn_fds, fds_flat: at each position as many as at the first call, or fewer.
learn_fds() {
  local i
  for ((i = 0; i < positions; i++)); do fds[i]=$(fds_of "${pod_of[i]}"); done
}
fds_flat() {
  local i
  for ((i = 0; i < positions; i++)); do
    [ "$(fds_of "${pod_of[i]}")" -le "${fds[i]}" ] || return 1
  done
}

# roll_right: each pod's hosts and hostfile have the address of the pod at each position.
roll_right() { hostfile_right && hosts_right; }

addresses() {
  local pod
  for pod in "${pod_of[@]}"; do "$podbox" ip "$pod"; done
}

hostfile_right() {
  local pod want
  want=$(addresses)
  for pod in "${pod_of[@]}"; do
    [ "$("$podbox" exec "$pod" tail -n +2 /tmp/hostfile | awk '{ print $1 }')" = "$want" ] || return 1
  done
}

# The address of each position's name in /etc/hosts, once each, in order.
hosts_right() {
  local pod want
  want=$(addresses | awk '{ print "train-" NR - 1 ".train", $1 }' | sort)
  for pod in "${pod_of[@]}"; do
    [ "$("$podbox" exec "$pod" cat /etc/hosts | awk '/^[^#]/ { for (k = 2; k <= NF; k++)
      if ($k ~ /^train-[0-9]+\.train$/) print $k, $1 }' | sort)" = "$want" ] || return 1
  done
}

# twins LINE [POD]: ranks that met another one of theirs, told behind this line of the output;
# but for ranks of POD, which is frozen.
twins() { tail -n +"$(($1 + 1))" "$out" | grep '^twin:' | grep -v "on ${2:-nowhere}\$"; }

# stop_job: it ends at its next checkpoint.
stop_job() { : >"$ckpt/stop"; }

# end_of_job: waits for it; sets code, digest and step.
end_of_job() {
  ends_within "$bound" "$job" || return 1
  digest=$(grep '^digest of' "$out" | tail -1)
  step=$(sed -E 's/.* step ([0-9]+):.*/\1/' <<<"$digest")
}

# result_right: 0, and the digest that one process comes to without MPI.
result_right() {
  [ "$code" = 0 ] && [ -n "$digest" ] && [ "$digest" = "$("$mpi/ckpt" --serial "$ranks" "$step")" ]
}

# rest: between two jobs; checkpoints go, each pod stands at its own position again.
rest() {
  ((++job_number))
  rm -rf "${ckpt:?}"/*
  local i moved=()
  for ((i = 0; i < positions; i++)); do
    [ "${pod_of[i]}" = "train-$i" ] || moved+=("$i")
    pod_of[i]=train-$i
  done
  stand_in=$stands_by
  for i in "${moved[@]}"; do
    "$podbox" unready "train-$i" # else podbox takes its name to be there
    point "train-$i"
  done
}

# idle_right: nothing of a job on any pod, and all agents have as many descriptors as the first.
idle_right() {
  local i n
  nothing_left $((positions + 2)) && all_stand_by $((positions + 1)) || return 1
  for ((i = 0; i <= positions; i++)); do
    n=$(fds_of "train-$i")
    [ "$n" = "${idle_fds:=$n}" ] || return 1
  done
}

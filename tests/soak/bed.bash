# A bed for jobs that are disturbed: pods, a launcher, and one training job (tests/mpi/ckpt.c) at a
# time. Load after helper.bash and muster.bash; needs $work, a directory, and $bound, the seconds
# that a recovery may take at most.
#
# The group is train-0 ... of `positions` pods and one more, `stand_in`. How a job is set up:
#
#   plain  the launcher has a pod of its own, so that every pod of the group may die. The stand-in
#          is no member: DNS says when a position's name means it.
#   spare  the stand-in is a member too, with --spares 1: the launcher moves positions.
#   lead   `musterd --lead` on train-0: with that pod the launcher goes.
# shellcheck disable=SC2034  # what functions set for those that load this
# shellcheck disable=SC2154  # muster, podbox, musterd, mpi: of muster.bash

domain=train.default.svc.cluster.local
agent_options=(--hosts --write plain:/tmp/hostfile)

# soak_bed POSITIONS SLOTS
soak_bed() {
  job_number=1 setting=plain events_then=0 sources=() job_options=()
  positions=$1 slots=$2 ranks=$(($1 * $2))
  stand_in=train-$positions
  launchers_pod=train-$((positions + 1))
  pod_of=()
  local i
  for ((i = 0; i < positions; i++)); do pod_of[i]=train-$i; done
  ckpt=$work/ckpt out=$work/out err=$work/err events=$work/ckpt/events strangers_key=$work/ckpt.key
  mkdir -p "$ckpt"
  "$muster" keygen "$strangers_key" >/dev/null
  BATS_TEST_TMPDIR=$work pods_up $((positions + 2)) --share "$ckpt" --share "$strangers_key"
  for ((i = 0; i <= positions; i++)); do start_agent "train-$i"; done
  wait_for 60 all_stand_by $((positions + 1))
}

# start_agent POD: one that keeps the pod's hosts and a hostfile as the launcher says; on the
# leader's pod with the launcher.
start_agent() {
  if [ "$setting" = lead ] && [ "$1" = train-0 ]; then
    start_launcher
  else
    "$podbox" exec "$1" -d "$musterd" "${agent_options[@]}"
  fi
}

# start_job star|tree PAUSE_MS [STEPS]: a new one, in this `setting`, of a group at rest. `sources`:
# options that say who they are; where there are none, names of pods. `job_options`: of this job alone.
start_job() {
  shape=$1 leader=$launchers_pod
  run_options=(--job "soak-$job_number" --slots "$slots" --on-failure restart --max-restarts 1000
    --same-failures 0 --healthy 0 --grace 1 --orphan-grace 2 --link-grace 1 --replace-timeout 60
    --wait 60 --events "$events" -x OMPI_MCA_mpi_yield_when_idle=1)
  [ "$shape" = star ] || run_options+=(--fanout 2)
  if [ "${#sources[@]}" != 0 ]; then
    run_options+=("${sources[@]}")
  elif [ "$setting" = spare ]; then
    run_options+=(--pods "train-[0-$positions].train" --spares 1)
  else
    run_options+=(--pods "train-[0-$((positions - 1))].train")
  fi
  run_options+=("${job_options[@]}")
  program=("$mpi/ckpt" "$ckpt" 4 "${@:2}")
  rm -f "$ckpt/stop"
  : >"$out"
  : >"$err"
  if [ "$setting" = lead ]; then
    leader=train-0
    end_agent train-0
  fi
  start_launcher
}

# start_launcher: of this job. Sets job, its pid here (musterd's, where that starts it).
start_launcher() {
  local command=("$muster" run "${run_options[@]}" "${program[@]}")
  [ "$setting" != lead ] || command=("$musterd" "${agent_options[@]}" --lead -- "${command[@]}")
  [ -z "$(tail -c 1 "$out")" ] || echo >>"$out" # what the one before left of a line
  "$podbox" exec "$leader" "${command[@]}" >>"$out" 2>>"$err" 3>&- &
  job=$!
}

end_agent() {
  local pid
  pid=$(agent_pid "$1")
  kill -KILL "$pid"
  wait_for 20 gone "$pid"
}

# ---- processes -------------------------------------------------------------------------

# look POD: what of a job is there, but for what stands by. Sets ranks_there (pids),
# keepers_there, servers_there (how many), agent_there and launcher_there (pids or nothing).
look() {
  local pid command comm
  ranks_there=() keepers_there=0 servers_there=0 agent_there='' launcher_there=''
  while read -r pid command; do
    comm=''
    read -r comm 2>/dev/null <"/proc/$pid/comm" || true
    case ${command%% *}:$comm in
      */mpi/ckpt:*) ranks_there+=("$pid") ;;
      musterd:'keeper (job)') keepers_there=$((keepers_there + 1)) ;;
      */muster-pmixd:'pmixd (job)') servers_there=$((servers_there + 1)) ;;
      */agent/musterd:*) agent_there=${agent_there:-$pid} ;;
      */launcher/muster:*) launcher_there=${launcher_there:-$pid} ;;
    esac
  done < <("$podbox" ps "$1" 2>/dev/null)
}

rank_pids() { look "$1" && [ "${#ranks_there[@]}" = 0 ] || printf '%s\n' "${ranks_there[@]}"; }
agent_pid() { look "$1" && echo "$agent_there"; }
launcher_pid() { look "$leader" && echo "$launcher_there"; }

# fds_of PID
fds_of() {
  local fds=("/proc/${1:-none}/fd"/*)
  echo "${#fds[@]}"
}

# ---- names -----------------------------------------------------------------------------

# pod_named I: the pod that the name train-I stands for.
pod_named() { if [ "$setting" = spare ]; then echo "train-$1"; else echo "${pod_of[$1]}"; fi; }

# name_at POSITION: the member's, as the launcher has it.
name_at() { if [ "$setting" = spare ]; then echo "${pod_of[$1]}"; else echo "train-$1"; fi; }

# is_inner POSITION: where a tree has --fanout 2, others hang below its member.
is_inner() {
  local member=$1 members=$positions
  [ "$setting" != spare ] || member=${pod_of[$1]#train-} members=$((positions + 1))
  ((2 * member + 3 <= members))
}

# stand_in_at POSITION: the pod that stood in nowhere stands there from now on; the other one, for
# nothing. DNS has, for each position, the address of the pod that stands there; the Service lists
# it, and not the other one, as endpoints do: its addresses tell that something moved.
stand_in_at() {
  local old=${pod_of[$1]}
  pod_of[$1]=$stand_in
  stand_in=$old
  point "${pod_of[$1]}"
}

# point POD: podbox gives a pod that is made ready its own name back, and takes that of one that
# is not; so all names that are another pod's are set again.
point() {
  "$podbox" unready "$stand_in"
  "$podbox" dns del "$1.$domain"
  "$podbox" ready "$1"
  point_names
}

point_names() {
  local i pod
  for ((i = 0; i < positions; i++)); do
    pod=$(pod_named "$i")
    [ "$pod" = "train-$i" ] || "$podbox" dns set "train-$i.$domain" A "$("$podbox" ip "$pod")"
  done
}

# renew_pod POD: a new pod of the same name with an agent in it.
renew_pod() {
  "$podbox" replace "$1"
  point_names
  start_agent "$1"
}

renew() { renew_pod "${pod_of[$1]}"; }

# reset_links POD: its agent's connections are reset, as by a firewall that forgets them.
reset_links() {
  local pid
  pid=$("$podbox" pid "$1")
  [ -n "$(timeout 10 nsenter -n -t "$pid" ss -KHtn 'sport = :7822' 2>/dev/null)" ]
}

# ---- what the job says ---------------------------------------------------------------

# mark: musters looks behind what the launcher has told until now.
mark() { events_then=$(wc -l <"$events"); }

# musters: the launcher musters again, since the mark.
musters() { tail -n +$((events_then + 1)) "$events" | grep -q '"to": *"muster"'; }

# waits_for POSITION WHY: so says the launcher, asked through another position's pod.
waits_for() {
  "$podbox" exec "${pod_of[($1 + 1) % positions]}" timeout 10 "$muster" status |
    grep -qE "^waiting .*train-$1\.train.*$2"
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

# said LINE TEXT: a rank, behind this line of the output.
said() { tail -n +$(($1 + 1)) "$out" | grep -q "$2"; }

# twins LINE [POD]: ranks that met another one of theirs, told behind this line of the output;
# but for ranks of POD, which is frozen.
twins() { tail -n +"$(($1 + 1))" "$out" | grep '^twin:' | grep -v "on ${2:-nowhere}\$"; }

# ---- what must hold ------------------------------------------------------------------

# seat_of PID: sets seat, attempt and position of a rank by its environment.
seat_of() {
  local variable attempt='' position=''
  while IFS= read -r -d '' variable; do
    case $variable in
      MUSTER_ATTEMPT=*) attempt=${variable#*=} ;;
      MUSTER_NODE_RANK=*) position=${variable#*=} ;;
    esac
  done 2>/dev/null <"/proc/$1/environ"
  seat="$attempt $position"
}

# ranks_right: at each position one pod, with its ranks, a keeper and a PMIx server, all of the
# attempt that runs; on the pod that is left nothing. Where the launcher moves positions, pod_of
# and stand_in are as they are found.
ranks_right() {
  local i pid pod seat found=() left='' attempt
  attempt=$(attempt_now)
  for ((i = 0; i <= positions; i++)); do
    pod=train-$i
    look "$pod"
    case "${#ranks_there[@]} $keepers_there $servers_there" in
      '0 0 0') left=$pod ;;
      "$slots 1 1")
        for pid in "${ranks_there[@]}"; do
          seat_of "$pid"
          [[ $seat =~ ^$attempt\ [0-9]+$ ]] || return 1
          [ "${found[${seat#* }]:-$pod}" = "$pod" ] || return 1
          found[${seat#* }]=$pod
        done
        ;;
      *) return 1 ;;
    esac
  done
  [ "${#found[@]}" = "$positions" ] && [ -n "$left" ] || return 1
  if [ "$setting" = spare ]; then
    pod_of=("${found[@]}") stand_in=$left
  else
    [ "${found[*]}" = "${pod_of[*]}" ]
  fi
}

# fds_now: open descriptors of the agents at the positions, each; of all agents of the group
# together, where positions move; and of the launcher.
fds_now() {
  local pod all=0 each=()
  for pod in "${pod_of[@]}" "$stand_in"; do
    look "$pod"
    each+=("$(fds_of "$agent_there")")
    all=$((all + each[-1]))
  done
  if [ "$setting" = spare ]; then each=("$all"); else unset 'each[-1]'; fi
  echo "${each[*]} $(fds_of "$(launcher_pid)")"
}

# learn_fds, fds_flat: as many as at the first call, or fewer.
learn_fds() { read -ra fds <<<"$(fds_now)"; }
fds_flat() {
  local i now
  read -ra now <<<"$(fds_now)"
  for i in "${!fds[@]}"; do [ "${now[i]}" -le "${fds[i]}" ] || return 1; done
}

# roll_right: in each pod of the group the hosts have all members at their addresses, and the
# hostfile those of the positions, in order.
roll_right() {
  local i pod ip want='' a_pod='' members=("${pod_of[@]}") files=()
  local -A address
  while read -r pod ip _; do address[$pod]=$ip; done < <("$podbox" list)
  [ "$setting" != spare ] || members+=("$stand_in")
  for pod in "${pod_of[@]}"; do a_pod+="${address[$pod]}"$'\n'; done
  for ((i = 0; i < ${#members[@]}; i++)); do a_pod+="train-$i ${address[$(pod_named "$i")]}"$'\n'; done
  for pod in "${members[@]}"; do
    look "$pod"
    files+=("/proc/$agent_there/root/tmp/hostfile" "/proc/$agent_there/root/etc/hosts")
    want+=$a_pod
  done
  [ "$(rolls_in "${#members[@]}" "${files[@]}")" = "${want%$'\n'}" ]
}

# rolls_in MEMBERS FILE...: the addresses of each hostfile; names and addresses of each hosts file.
rolls_in() {
  awk -v members="$1" '
    function hosts(  i) {
      for (i = 0; is_hosts && i < members; i++) print "train-" i of["train-" i ".train"]
      split("", of)
    }
    FNR == 1 { hosts(); is_hosts = FILENAME ~ /hosts$/ }
    !is_hosts && FNR > 1 { print $1 }
    is_hosts && !/^#/ { for (k = 2; k <= NF; k++) of[$k] = of[$k] " " $1 }
    END { hosts() }' "${@:2}"
}

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

# rest: between two jobs; checkpoints go, each pod stands at its own position again, and all
# have an agent that waits.
rest() {
  ((++job_number))
  rm -rf "${ckpt:?}"/*
  local i moved=() was=$setting
  [ "$was" = spare ] || for ((i = 0; i < positions; i++)); do
    [ "${pod_of[i]}" = "train-$i" ] || moved+=("$i")
  done
  setting=plain
  [ "$was" != lead ] || start_agent train-0
  for ((i = 0; i < positions; i++)); do pod_of[i]=train-$i; done
  stand_in=train-$positions
  for i in "${moved[@]}"; do
    "$podbox" unready "train-$i" # else podbox takes its name to be there
    point "train-$i"
  done
  "$podbox" ready "$stand_in"
}

# idle_right: nothing of a job on any pod, and all agents have as many descriptors as the first.
idle_right() {
  local i n
  nothing_left $((positions + 2)) && all_stand_by $((positions + 1)) || return 1
  for ((i = 0; i <= positions; i++)); do
    n=$(fds_of "$(agent_pid "train-$i")")
    [ "$n" = "${idle_fds:=$n}" ] || return 1
  done
}

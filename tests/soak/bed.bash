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
  job_number=1 setting=plain events_then=0
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

# start_job star|tree PAUSE_MS [STEPS]: a new one, in this `setting`, of a group at rest.
start_job() {
  local members=$positions
  shape=$1 leader=$launchers_pod
  [ "$setting" != spare ] || ((++members))
  run_options=(--job "soak-$job_number" --pods "train-[0-$((members - 1))].train" --slots "$slots"
    --on-failure restart --max-restarts 1000 --same-failures 0 --healthy 0 --grace 1 --orphan-grace 2
    --link-grace 1 --replace-timeout 60 --wait 60 --events "$events" -x OMPI_MCA_mpi_yield_when_idle=1)
  [ "$shape" = star ] || run_options+=(--fanout 2)
  [ "$setting" != spare ] || run_options+=(--spares 1)
  program=("$mpi/ckpt" "$ckpt" 10 "${@:2}")
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

launcher_pid() { pids_of "$leader" '^[0-9]+ [^ ]*launcher/muster run' | head -1; }
rank_pids() { pids_of "$1" '^[0-9]+ [^ ]*mpi/ckpt '; }
agent_pid() { pids_of "$1" '^[0-9]+ [^ ]*/musterd( |$)' | head -1; }

# ---- names -----------------------------------------------------------------------------

# pod_named I: the pod that the name train-I stands for.
pod_named() { if [ "$setting" = spare ]; then echo "train-$1"; else echo "${pod_of[$1]}"; fi; }

# name_at POSITION: the member's, as the launcher has it.
name_at() { if [ "$setting" = spare ]; then echo "${pod_of[$1]}"; else echo "train-$1"; fi; }

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

# parts_of POD: how many ranks, keepers and PMIx servers of a job are there.
parts_of() {
  processes "$1" | awk '$2 ~ /mpi\/ckpt$/ { r++ } / musterd keeper / { k++; next } /\/muster-pmixd$/ { p++ }
    END { print r + 0, k + 0, p + 0 }'
}

# seat_of POD: attempt and position of its ranks, by their environment; a line, if they agree.
seat_of() {
  local pid
  for pid in $(rank_pids "$1"); do
    tr '\0' '\n' <"/proc/$pid/environ" | awk -F= '$1 == "MUSTER_ATTEMPT" { a = $2 }
      $1 == "MUSTER_NODE_RANK" { n = $2 } END { print a, n }'
  done | sort -u
}

# ranks_right: at each position one pod, with its ranks, a keeper and a PMIx server, all of the
# attempt that runs; on the pod that is left nothing. Where the launcher moves positions, pod_of
# and stand_in are as they are found.
ranks_right() {
  local i pod seat found=() left='' attempt
  attempt=$(attempt_now)
  for ((i = 0; i <= positions; i++)); do
    pod=train-$i
    case $(parts_of "$pod") in
      '0 0 0') left=$pod ;;
      "$slots 1 1")
        seat=$(seat_of "$pod")
        [[ $seat =~ ^$attempt\ [0-9]+$ ]] || return 1
        [ -z "${found[${seat#* }]:-}" ] || return 1
        found[${seat#* }]=$pod
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

fds_of() { find "/proc/${1:-none}/fd" -mindepth 1 2>/dev/null | wc -l; }

# fds_now: open descriptors of the agents at the positions, each; of all agents of the group
# together, where positions move; and of the launcher.
fds_now() {
  local i all=0 each=()
  for ((i = 0; i < positions; i++)); do each[i]=$(fds_of "$(agent_pid "${pod_of[i]}")"); done
  if [ "$setting" = spare ]; then
    for i in "${each[@]}" "$(fds_of "$(agent_pid "$stand_in")")"; do all=$((all + i)); done
    each=("$all")
  fi
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
  local i pod ip root hosts='' seats='' members=("${pod_of[@]}")
  local -A address
  while read -r pod ip _; do address[$pod]=$ip; done < <("$podbox" list)
  [ "$setting" != spare ] || members+=("$stand_in")
  for ((i = 0; i < ${#members[@]}; i++)); do hosts+="${address[$(pod_named "$i")]} train-$i.train"$'\n'; done
  for pod in "${pod_of[@]}"; do seats+=${address[$pod]}$'\n'; done
  for pod in "${members[@]}"; do
    root=/proc/$("$podbox" pid "$pod")/root
    [ "$(tail -n +2 "$root/tmp/hostfile" | awk '{ print $1 }')" = "${seats%$'\n'}" ] || return 1
    [ "$(group_in_hosts "$root/etc/hosts")" = "${hosts%$'\n'}" ] || return 1
  done
}

# group_in_hosts FILE: address and name, a line each, in the order of the names' numbers.
group_in_hosts() {
  awk '/^[^#]/ { for (k = 2; k <= NF; k++) if ($k ~ /^train-[0-9]+\.train$/) print $1, $k }' "$1" | sort -t- -k2n
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

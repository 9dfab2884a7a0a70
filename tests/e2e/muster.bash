# Helpers for tests that run muster on emulated pods. Load after helper.bash.
# shellcheck disable=SC2034  # what functions set for the tests that load this

muster=$MUSTER_BUILDDIR/launcher/muster
podbox=$PODBOX
musterd=$MUSTER_BUILDDIR/agent/musterd
mpi=$MUSTER_BUILDDIR/tests/mpi

# agents_up N [UP-OPTION...]: a bed of N pods (train-0 ...) with the group's key and an agent
# in each, which is not the container's pid 1 (so that it can be killed alone).
agents_up() {
  local n=$1
  shift
  pods_up "$n" "$@"
  start_agents "$n"
}

# pods_up N [UP-OPTION...]: the same without agents.
pods_up() {
  local n=$1
  shift
  "$muster" keygen "$BATS_TEST_TMPDIR/key" >/dev/null
  mkdir -p "$BATS_TEST_TMPDIR/cm"
  "$podbox" volume put key "$BATS_TEST_TMPDIR/key" >/dev/null
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  "$podbox" up "$n" --name train --secret key:/etc/muster/ssh --volume group:/etc/muster/group \
    "$@" >/dev/null
}

start_agents() {
  local i
  for ((i = 0; i < $1; i++)); do "$podbox" exec "train-$i" -d "$musterd"; done
}

# hostfile_of N SLOTS: an IP hostfile in the ConfigMap volume (/etc/muster/group/hostfile).
hostfile_of() {
  local i
  for ((i = 0; i < $1; i++)); do
    echo "$("$podbox" ip "train-$i") slots=$2"
  done >"$BATS_TEST_TMPDIR/cm/hostfile"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
}

# lead CMD...: run in the leader pod.
lead() { "$podbox" exec train-0 "$@"; }

# processes POD: host pid and command of all but what stands by for the next attempt.
processes() {
  local pid command comm
  "$podbox" ps "$1" 2>/dev/null | while read -r pid command; do
    comm=''
    read -r comm 2>/dev/null <"/proc/$pid/comm" || true
    case $command in
      'musterd keeper '*) [ "$comm" = 'keeper (job)' ] || continue ;;
      */muster-pmixd) [ "$comm" = 'pmixd (job)' ] || continue ;;
    esac
    echo "$pid $command"
  done
}

# standing_by POD: host pids of what does, or is about to.
standing_by() {
  local pid command comm
  "$podbox" ps "$1" 2>/dev/null | while read -r pid command; do
    comm=''
    read -r comm 2>/dev/null <"/proc/$pid/comm" || true
    case $comm in 'keeper (ready)' | 'pmixd (ready)') echo "$pid" ;; esac
  done
}

# pids_of POD PATTERN [BUT]: host pids of processes in the pod whose command matches PATTERN
# and not BUT.
pids_of() {
  local -
  set +T
  processes "$1" | awk -v p="$2" -v n="${3:-^$}" '$0 ~ p && $0 !~ n { print $1 }'
}

# all_stand_by N: two keepers in each of the pods, and a PMIx server.
all_stand_by() {
  local i
  for ((i = 0; i < $1; i++)); do stands_by "train-$i" || return 1; done
}

# stands_by POD: two keepers and a PMIx server. (A third keeper is one that becomes the server.)
stands_by() {
  local kinds
  kinds=$(standing_by "$1" | sed 's,.*,/proc/&/comm,' | xargs -r cat 2>/dev/null | sort | paste -sd,)
  [ "$kinds" = 'keeper (ready),keeper (ready),pmixd (ready)' ]
}

# job_processes N: what of a job (ranks, keepers, PMIx servers) is left on the pods; more kits
# than stand by count, too.
job_processes() {
  local i pid command comm keepers
  for ((i = 0; i < $1; i++)); do
    keepers=0
    while read -r pid command; do
      comm=''
      read -r comm 2>/dev/null <"/proc/$pid/comm" || true
      case $command in
        'musterd keeper '*) ((++keepers > 2)) || [ "$comm" = 'keeper (job)' ] || continue ;;
        */muster-pmixd) [ "$comm" = 'pmixd (job)' ] || continue ;;
        *tests/mpi/* | *tests/mpich/* | *keeper* | *rank-*) ;;
        *) continue ;;
      esac
      echo "$pid $command"
    done < <("$podbox" ps "train-$i" 2>/dev/null)
  done
}

nothing_left() {
  local -
  set +T
  [ -z "$(job_processes "$1")" ]
}

# has_read POD: the agent there, all that came. One that is killed before resets its connections, as a
# firewall may: nobody can tell that it has ended, and its peers wait for the link grace.
has_read() {
  nsenter -n -t "$("$podbox" pid "$1")" timeout 10 ss -Htn state established '( sport = :7822 or dport = :7822 )' |
    awk '$1 > 0 { unread = 1 } END { exit unread }'
}

# ms: milliseconds of the monotonic clock.
ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }

# measure_launch MUSTER-ARGS...: sets launch_ms, the time of a run of `true` in this bed.
measure_launch() {
  local start
  start=$(ms)
  lead "$muster" run "$@" true
  launch_ms=$(($(ms) - start))
}

# bound_s SECONDS: the larger of SECONDS and 20 launches, in whole seconds.
bound_s() {
  local twenty=$(((launch_ms * 20 + 999) / 1000))
  echo $(($1 > twenty ? $1 : twenty))
}

# start_hang RUN-OPTIONS...: 8 ranks that never end by themselves, launched from train-0 in
# the background; returns when all are past MPI_Init. Sets launcher_job (pid here), out.
start_hang() {
  out=$BATS_TEST_TMPDIR/out
  lead "$muster" run "$@" "$mpi/hang" >"$out" 2>&1 &
  launcher_job=$!
  wait_for 60 ranks_running 8
}

ranks_running() { [ "$(grep -c '^rank .* pid' "$out")" = "$1" ]; }

# ends_within SECONDS PID: waits for a child; sets code.
ends_within() {
  wait_for "$1" gone "$2"
  code=0
  wait "$2" || code=$?
}

# gone PID: it has ended, be it waited for or not.
gone() {
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
  stat=${stat##*) }
  [ "${stat%% *}" = Z ]
}

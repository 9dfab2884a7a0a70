#!/usr/bin/env bash
# ./dev bench recover [--pods N] [--rounds R] [--warm-ups W] [--only muster|mpirun|torchrun]: how
# long from the kill until all ranks are past MPI_Init again.
# Muster's job goes on by itself; beside it, on the same pods in the same run, mpirun over ssh,
# which is started anew once it has ended and the new pod's sshd is there, and torchrun, elastic,
# where torch is installed (PYTHONPATH and LD_LIBRARY_PATH are handed on). The rounds are
# interleaved. Figures are medians with min and max, and ratios.
#
# A replaced pod is there as soon as podbox can make one: what an image and a scheduler take
# comes on top, for each of them.
set -euo pipefail

bench=recover pods=4 rounds=3 warm_ups=1 limit=600 only=
while [ $# -gt 1 ]; do
  case $1 in
    --pods) pods=$2 ;;
    --rounds) rounds=$2 ;;
    --warm-ups) warm_ups=$2 ;;
    --only) only=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# = 0 ] && ((pods >= 2)) || { echo "bench recover: --pods N (2 or more), --rounds R, --warm-ups W, --only muster|mpirun|torchrun" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/bench/pods.bash
source "$here/pods.bash"

ckpt=$build/tests/mpi/ckpt
share=$work/share
mkdir "$share"
cp "$here/recover.py" "$share"
last=train-$((pods - 1))
stand_in=train-$pods
name_of_last=$last.train.default.svc.cluster.local

# ---- the bed -------------------------------------------------------------------------

serve() {
  agent_in "$1"
  sshd_in "$1"
}

make_bed() {
  bench_pods $((pods + 1)) --share "$share"
  local i
  for ((i = 0; i <= pods; i++)); do serve "train-$i"; done
  quiet_ssh_in train-0
  for ((i = 0; i < pods; i++)); do echo "train-$i.train slots=1"; done |
    "$podbox" exec train-0 sh -c 'cat >/tmp/hosts'
}

# said N FILE: so many times all ranks were past MPI_Init.
said() { [ "$(grep -c '^attempt [0-9]* runs' "$2")" -ge "$1" ]; }
no_rank() { [ -z "$(processes_of "$1" 'mpi/ckpt ')" ]; }

# heal POD: until each other pod reaches it. (Who looked for it before is told for a second more that
# there is no such host, and an Open MPI rank that is told so hangs.)
heal() {
  local i
  "$podbox" heal "$1"
  for ((i = 0; i <= pods; i++)); do until_true reaches "train-$i" "$("$podbox" ip "$1")"; done
}
reaches() { "$podbox" exec "$1" timeout 1 bash -c "exec 3<>/dev/tcp/$2/22"; }
listens() { "$podbox" exec "$1" bash -c 'exec 3<>/dev/tcp/127.0.0.1/22'; }

# since START LABEL: a figure.
since() { awk -v l="$2" -v s="$1" -v e="$EPOCHREALTIME" 'BEGIN { printf "%s|%.4f\n", l, e - s }' >>"$work/figures"; }

all_warm() {
  local i
  for ((i = 0; i < pods; i++)); do
    "$podbox" ps "train-$i" | awk '{ print $1 }' | sed 's,.*,/proc/&/comm,' |
      xargs grep -qsxe 'pmixd (ready)' || return 1
  done
}

# ---- Muster --------------------------------------------------------------------------

muster_round() {
  local job start attempt graces
  start_muster $((pods - 1))
  again 1 'plain launch'
  after 'rank killed' kill -KILL "$(processes_of "$last" 'mpi/ckpt ')"
  after 'pod replaced' replace_with_agent
  after 'pod cut off, another one in its place' cut_off
  stop_launcher train-0
  bring_back_last
  read -ra graces < <(short_graces)
  start_muster $((pods - 1)) "${graces[@]}"
  until_true said 1 "$work/muster.out"
  after 'the same, with short graces' cut_off
  stop_launcher train-0
  bring_back_last
  start_muster "$pods" --spares 1
  until_true said 1 "$work/muster.out"
  after 'pod killed, a spare in its place' "$podbox" kill "$last"
  replace_with_agent
  until_true came_back "$last"
  after 'pod cut off, a spare in its place' "$podbox" cut "$stand_in"
  stop_launcher train-0
  heal "$stand_in"
  until_true no_rank "$stand_in"
}

# short_graces: as short as agents can keep beside ranks that spin, all on this machine.
short_graces() {
  awk -v n="$(((pods + $(nproc) - 1) / $(nproc)))" 'BEGIN {
    beat = n > 8 ? n / 80 : 0.1
    printf "--heartbeat %g --link-grace %g --orphan-grace %g --grace 0.2\n", beat, 3 * beat, 5 * beat
  }'
}

bring_back_last() {
  "$podbox" dns set "$name_of_last" A "$("$podbox" ip "$last")"
  heal "$last"
  until_true no_rank "$last" # its agent gives them up by itself
}

# came_back POD: its new agent is a member.
came_back() { [ "$(grep '"attached"' "$share/events" | grep -c "\"$1.train\"")" = 2 ]; }

# start_muster LAST OPTION...: on the pods up to this one.
start_muster() {
  until_true all_warm
  start=$EPOCHREALTIME
  "$podbox" exec train-0 "$muster" run -q --pods "train-[0-$1].train" --slots 1 "${@:2}" \
    --on-failure restart --healthy 0 --max-restarts 1000 --events "$share/events" "$ckpt" /tmp 100000000 50 \
    >"$work/muster.out" 2>"$work/muster.err" &
  job=$!
}

# after LABEL CMD...: what the command does, until all ranks run again. The next attempt's PMIx
# servers stand by before, as in a job that has run for some seconds.
after() {
  until_true all_warm
  attempt=$(attempts)
  start=$EPOCHREALTIME
  "${@:2}"
  again $((attempt + 1)) "$1"
}

# attempts: how many so far had all ranks past MPI_Init. (With heartbeats so short that this machine
# cannot keep them, more than one a failure.)
attempts() { grep -c '^attempt [0-9]* runs' "$work/muster.out"; }

again() {
  until_true said "$1" "$work/muster.out"
  since "$start" "Muster|$2"
  echo "grace|$2|$(grace_used)" >>"$work/figures"
}

# grace_used: how long the slowest member's ranks took to end in the last stop.
grace_used() {
  awk '/"to":"stop"/ { most = 0 }
    match($0, /"seconds":[0-9.]+/) { s = substr($0, RSTART + 10, RLENGTH - 10); if (s > most) most = s + 0 }
    END { print most + 0 }' "$share/events"
}

replace_with_agent() {
  "$podbox" replace "$last"
  serve "$last"
}

cut_off() {
  "$podbox" cut "$last"
  "$podbox" dns set "$name_of_last" A "$("$podbox" ip "$stand_in")"
}

# ---- mpirun --------------------------------------------------------------------------

start_mpirun() {
  : >"$work/mpirun.out"
  "$podbox" exec train-0 mpirun.openmpi --allow-run-as-root --mca btl_base_warn_component_unused 0 \
    --mca orte_keep_fqdn_hostnames 1 --hostfile /tmp/hosts -n "$pods" "$ckpt" /tmp 100000000 50 \
    >"$work/mpirun.out" 2>"$work/mpirun.err" </dev/null &
  job=$!
}

mpirun_runs() {
  until_true said 1 "$work/mpirun.out"
  since "$1" "mpirun|$2"
}

mpirun_round() {
  local job start
  start=$EPOCHREALTIME
  start_mpirun
  mpirun_runs "$start" 'plain launch'
  start=$EPOCHREALTIME
  kill -KILL "$(processes_of "$last" 'mpi/ckpt ')"
  until_true ended "$job"
  start_mpirun
  mpirun_runs "$start" 'rank killed'
  start=$EPOCHREALTIME
  replace_with_agent
  until_true ended "$job"
  until_true listens "$last"
  start_mpirun
  mpirun_runs "$start" 'pod replaced'
  kill -TERM "$(processes_of train-0 'mpirun.openmpi ' | head -1)"
  until_true ended "$job"
}

# ---- torchrun ------------------------------------------------------------------------

# start_torchrun POD: its node's elastic agent, in the background. (Debian 12's torch cannot take
# the defaults of --redirects and --tee with its own Python.)
start_torchrun() {
  local settings=(--env "PYTHONPATH=${PYTHONPATH:-}" --env "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}")
  "$podbox" exec "$1" -d "${settings[@]}" "$torch_python" -m torch.distributed.run --nnodes "$pods" \
    --nproc_per_node 1 --max_restarts 1000 --redirects 1 --tee 1 --rdzv_backend c10d --rdzv_id recover \
    --rdzv_endpoint "$("$podbox" ip train-0):29400" "$share/recover.py" "$share/torch"
}

met() { [ "$(wc -l <"$share/torch")" -ge "$1" ]; }

torch_again() {
  until_true met "$1" || return 1
  since "$start" "torchrun|$2"
}

torchrun_round() {
  local i start
  : >"$share/torch"
  start=$EPOCHREALTIME
  for ((i = 0; i < pods; i++)); do start_torchrun "train-$i"; done
  torch_again "$pods" 'plain launch'
  start=$EPOCHREALTIME
  kill -KILL "$(processes_of "$last" 'python3.*recover.py' | tail -1)"
  torch_again $((2 * pods)) 'rank killed'
  start=$EPOCHREALTIME
  replace_with_agent
  start_torchrun "$last"
  torch_again $((3 * pods)) 'pod replaced'
  start=$EPOCHREALTIME
  "$podbox" cut "$last"
  start_torchrun "$stand_in"
  torch_again $((4 * pods)) 'pod cut off, another one in its place'
  heal "$last"
  for ((i = 0; i <= pods; i++)); do
    processes_of "train-$i" 'python3.*recover.py' | xargs -r kill -KILL
  done
}

# ---- figures -------------------------------------------------------------------------

rows=('plain launch' 'rank killed' 'pod killed, a spare in its place' 'pod replaced'
  'pod cut off, another one in its place' 'the same, with short graces' 'pod cut off, a spare in its place')

report() {
  local row who median min max ours=''
  printf '%d pods, 1 rank each, %d rounds, %s CPUs; seconds to all ranks past MPI_Init: median (min-max)\n' \
    "$pods" "$rounds" "$(nproc)"
  echo "short graces: $(short_graces)"
  for row in "${rows[@]}"; do
    grep -qF "|$row|" "$work/figures" || continue
    echo "$row"
    for who in Muster mpirun torchrun; do
      read -r median min max < <(stats "$who" "$row") || continue
      [ "$who" != Muster ] || ours=$median
      printf '  %-9s %7.3f (%.3f-%.3f)%s\n' "$who" "$median" "$min" "$max" \
        "${ours:+$(awk "BEGIN { printf \"  %6.2f times Muster\", $median / $ours }")}"
    done
  done
  goal_spare
  goal_silence
}

median_of() { stats "$@" | awk '{ print $1 }'; }

# goal_spare: a spare takes over within 1.5 plain launches and the grace that ranks took to end.
goal_spare() {
  local launch spare grace
  launch=$(median_of Muster 'plain launch')
  spare=$(median_of Muster 'pod killed, a spare in its place')
  grace=$(median_of grace 'pod killed, a spare in its place')
  [ -n "$spare" ] || return 0
  awk -v l="$launch" -v s="$spare" -v g="$grace" 'BEGIN {
    printf "goal, a spare: %.3f s, of it %.3f s of grace; the rest is %.2f plain launches (1.5): %s\n",
      s, g, (s - g) / l, s - g <= 1.5 * l ? "met" : "missed" }'
}

# goal_silence: ten times faster than torchrun with its defaults, by ours and with short graces.
goal_silence() {
  local row ours theirs
  theirs=$(median_of torchrun 'pod cut off, another one in its place')
  [ -n "$theirs" ] || return 0
  for row in 'pod cut off, another one in its place' 'the same, with short graces'; do
    ours=$(median_of Muster "$row")
    [ -n "$ours" ] || continue
    awk -v r="$row" -v o="$ours" -v t="$theirs" 'BEGIN {
      printf "goal, a silent loss (%s): %.3f s, torchrun %.3f s: %.1f times faster (10): %s\n",
        r, o, t, t / o, (t >= 10 * o) ? "met" : "missed" }'
  done
}

# peers: who takes part.
peers() {
  local who
  for who in muster mpirun; do [ -z "$only" ] || [ "$only" = $who ] && echo $who; done
  [ -z "$only" ] || [ "$only" = torchrun ] || return 0
  if [ -n "$torch_python" ]; then
    echo torchrun
  else
    echo "torchrun is left out: no python3 here has torch (Debian: python3-torch)" >&2
  fi
}

# with_torch: the first Python that has it, Debian's own among them.
with_torch() {
  local python
  for python in python3 /usr/bin/python3; do
    ! "$python" -c 'import torch' 2>/dev/null || { echo "$python"; return; }
  done
}

torch_python=$(with_torch)
mapfile -t taking_part < <(peers)
[ "${#taking_part[@]}" -gt 0 ] || { echo "bench recover: nobody takes part" >&2; exit 2; }
make_bed
# A peer that does not make it in time ends the rounds, not the report.
for ((round = 0, rc = 0; rc == 0 && round < warm_ups + rounds; round++)); do
  [ "$round" != "$warm_ups" ] || : >"$work/figures"
  for who in "${taking_part[@]}"; do
    set +e
    (set -e; "${who}_round")
    rc=$?
    set -e
    [ "$rc" = 0 ] || { echo "bench recover: $who's round $round broke off" >&2; break; }
  done
done
report
[ "$rc" = 0 ]

#!/usr/bin/env bash
# ./dev bench recover [--pods N] [--rounds R] [--only muster|mpirun|torchrun]: how long from the kill until all
# ranks are past MPI_Init again.
# Muster's job goes on by itself; beside it, on the same pods in the same run, mpirun over ssh,
# which is started anew once it has ended and the new pod's sshd is there, and torchrun, elastic,
# where torch is installed (PYTHONPATH and LD_LIBRARY_PATH are handed on). The rounds are
# interleaved. Figures are medians with min and max, and ratios.
#
# A replaced pod is there as soon as podbox can make one: what an image and a scheduler take
# comes on top, for each of them.
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev bench recover}
podbox=$build/tests/podbox/podbox
muster=$build/launcher/muster
ckpt=$build/tests/mpi/ckpt
here=$(cd "$(dirname "$0")" && pwd)
pods=4 rounds=3 limit=300 only=
while [ $# -gt 1 ]; do
  case $1 in
    --pods) pods=$2 ;;
    --rounds) rounds=$2 ;;
    --only) only=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# = 0 ] && ((pods >= 2)) || { echo "bench recover: --pods N (2 or more), --rounds R, --only muster|mpirun|torchrun" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "bench recover: emulated pods need root" >&2; exit 77; }

work=$(mktemp -d)
share=$work/share
mkdir "$share"
cp "$here/recover.py" "$share"
export PODBOX_BED=bench-$$ PODBOX_BIND=$build
clean_up() {
  "$podbox" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
# shellcheck source=tests/bench/pods.bash
source "$here/pods.bash"

last=train-$((pods - 1))
stand_in=train-$pods
name_of_last=$last.train.default.svc.cluster.local

# ---- the bed -------------------------------------------------------------------------

serve() {
  "$podbox" exec "$1" -d "$build/agent/musterd"
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

# processes_of POD PATTERN: host pids.
processes_of() { "$podbox" ps "$1" | awk -v p="$2" '$0 ~ p { print $1 }'; }

# until CMD...: bounded by `limit` seconds.
until_true() {
  local end=$((EPOCHSECONDS + limit))
  until "$@" 2>/dev/null; do
    [ $EPOCHSECONDS -lt $end ] || { echo "bench recover: not within $limit s: $*" >&2; return 1; }
    sleep 0.02
  done
}

# said N FILE: so many times all ranks were past MPI_Init.
said() { [ "$(grep -c '^attempt [0-9]* runs' "$2")" -ge "$1" ]; }
ended() { ! kill -0 "$1"; }
no_rank() { [ -z "$(processes_of "$1" 'mpi/ckpt ')" ]; }
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
  local job start attempt
  start_muster $((pods - 1))
  again 1 'plain launch'
  after 'rank killed' kill -KILL "$(processes_of "$last" 'mpi/ckpt ')"
  after 'pod replaced' replace_with_agent
  after 'pod cut off, another one in its place' cut_off
  stop_muster
  "$podbox" dns set "$name_of_last" A "$("$podbox" ip "$last")"
  "$podbox" heal "$last"
  until_true no_rank "$last" # its agent gives them up by itself
  start_muster "$pods" --spares 1
  until_true said 1 "$work/muster.out"
  after 'pod killed, a spare in its place' "$podbox" kill "$last"
  replace_with_agent
  until_true came_back "$last"
  after 'pod cut off, a spare in its place' "$podbox" cut "$stand_in"
  stop_muster
  "$podbox" heal "$stand_in"
  until_true no_rank "$stand_in"
}

# came_back POD: its new agent is a member.
came_back() { [ "$(grep '"attached"' "$share/events" | grep -c "\"$1.train\"")" = 2 ]; }

# start_muster LAST OPTION...: on the pods up to this one.
start_muster() {
  until_true all_warm
  attempt=1 start=$EPOCHREALTIME
  "$podbox" exec train-0 "$muster" run -q --pods "train-[0-$1].train" --slots 1 "${@:2}" \
    --on-failure restart --healthy 0 --max-restarts 1000 --events "$share/events" "$ckpt" /tmp 100000000 50 \
    >"$work/muster.out" 2>"$work/muster.err" &
  job=$!
}

stop_muster() {
  kill -TERM "$(processes_of train-0 'launcher/muster run')"
  until_true ended "$job"
}

# after LABEL CMD...: what the command does, until all ranks run again. The next attempt's PMIx
# servers stand by before, as in a job that has run for some seconds.
after() {
  until_true all_warm
  start=$EPOCHREALTIME
  "${@:2}"
  again $((++attempt)) "$1"
}

again() {
  until_true said "$1" "$work/muster.out" || { tail -15 "$work/muster.err" >&2; exit 1; }
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
  "$podbox" exec "$last" -d "$build/agent/musterd"
  sshd_in "$last"
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
  until_true said 1 "$work/mpirun.out" || { tail -15 "$work/mpirun.err" >&2; exit 1; }
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
  "$podbox" heal "$last"
  for ((i = 0; i <= pods; i++)); do
    processes_of "train-$i" 'python3.*recover.py' | xargs -r kill -KILL
  done
}

# ---- figures -------------------------------------------------------------------------

rows=('plain launch' 'rank killed' 'pod killed, a spare in its place' 'pod replaced'
  'pod cut off, another one in its place' 'pod cut off, a spare in its place')

# stats WHO ROW: median, min, max; nothing where there are no figures.
stats() {
  awk -F'|' -v w="$1" -v r="$2" '$1 == w && $2 == r { print $3 }' "$work/figures" | sort -n |
    awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

report() {
  local row who median min max ours=''
  printf '%d pods, 1 rank each, %d rounds, %s CPUs; seconds to all ranks past MPI_Init: median (min-max)\n' \
    "$pods" "$rounds" "$(nproc)"
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

# goal_silence: ten times faster than torchrun, with its defaults.
goal_silence() {
  local ours theirs
  ours=$(median_of Muster 'pod cut off, another one in its place')
  theirs=$(median_of torchrun 'pod cut off, another one in its place')
  [ -n "$ours" ] && [ -n "$theirs" ] || return 0
  awk -v o="$ours" -v t="$theirs" 'BEGIN {
    printf "goal, a silent loss: %.3f s, torchrun %.3f s: %.1f times faster (10): %s\n",
      o, t, t / o, t >= 10 * o ? "met" : "missed" }'
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
for ((round = 0; round <= rounds; round++)); do # round 0 warms up
  for who in "${taking_part[@]}"; do "${who}_round"; done
  [ "$round" != 0 ] || : >"$work/figures"
done
report

#!/usr/bin/env bash
# ./dev bench launch [--pods N] [--rounds R] [--only PATTERN]: how long a launch takes, beside mpirun, Hydra and
# pdsh on the same emulated pods in the same run, over the floor (a bare TCP message to each
# pod, posix_spawn of `true` there, an answer). Rounds are interleaved, so that a machine that
# slows down slows all of them; figures are medians with min and max, and ratios.
set -euo pipefail

bench=launch pods=8 rounds=5 limit=120 only=
while [ $# -gt 0 ]; do
  case $1 in
    --pods) pods=$2 ;;
    --rounds) rounds=$2 ;;
    --only) only=$2 ;; # rows whose name has this (grep -E); the floor always
    *) echo "bench launch: what is $1? --pods N, --rounds R, --only PATTERN" >&2; exit 2 ;;
  esac
  shift 2
done
# shellcheck source=tests/bench/pods.bash
source "$(dirname "$0")/pods.bash"

acct=''
clean_up() {
  bench_end
  [ -z "$acct" ] || { echo $$ >"${acct%/*}/tasks"; rmdir "$acct"; } 2>/dev/null || true
}
trap clean_up EXIT

hello=$build/tests/bench/hello
last=$((pods - 1))
names=$(seq -f 'train-%.0f.train' -s ' ' 0 $last)
group="--key /etc/muster/ssh --pods train-[0-$last].train"
cold="--key /etc/muster/ssh --hostfile /tmp/hosts.cold"

# Two agents a pod: one with a keeper and a PMIx server that stand by, one without (port 7823).
# sshd serves with the same Ed25519 key, and a floor is there.
make_bed() {
  bench_pods "$pods"
  local i
  for ((i = 0; i < pods; i++)); do
    agent_in "train-$i"
    "$podbox" exec "train-$i" -d "$build/agent/musterd" --listen '[::]:7823' --no-standby
    "$podbox" exec "train-$i" -d "$build/tests/bench/floor" serve 7000
    sshd_in "train-$i"
  done
}

# What the leader needs: ssh without questions, hostfiles, and the loop that measures.
make_leader() {
  quiet_ssh_in train-0
  local slots
  for slots in 1 4; do
    for n in $names; do echo "$n slots=$slots"; done |
      "$podbox" exec train-0 sh -c "cat >/tmp/hosts.$slots"
  done
  for n in $names; do echo "$n slots=1 port=7823"; done |
    "$podbox" exec train-0 sh -c 'cat >/tmp/hosts.cold'
  for n in $names; do echo "$n"; done | "$podbox" exec train-0 sh -c 'cat >/tmp/hosts'
}

mpirun="mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl_base_warn_component_unused 0 --mca orte_keep_fqdn_hostnames 1"
commands=(
  "floor|" # needs the addresses
  "muster true, --pmi none|$muster run -q $group --slots 1 --pmi none true"
  "muster true, PMIx warm|$muster run -q $group --slots 1 --pmi pmix true"
  "muster true, PMIx cold|$muster run -q $cold --slots 1 --pmi pmix true"
  "pdsh true|pdsh -R ssh -f 64 -w ^/tmp/hosts true"
  "Hydra true|mpiexec.hydra -localhost LEADER -launcher ssh -f /tmp/hosts -ppn 1 -n $pods true"
  "mpirun true|$mpirun --hostfile /tmp/hosts.1 -n $pods true"
  "muster hello, 1 rank a pod|$muster run -q $group --slots 1 $hello"
  "mpirun hello, 1 rank a pod|$mpirun --hostfile /tmp/hosts.1 -n $pods $hello"
  "muster hello, 4 ranks a pod|$muster run -q $group --slots 4 $hello"
  "mpirun hello, 4 ranks a pod|$mpirun --hostfile /tmp/hosts.4 -n $((pods * 4)) $hello"
)

# The floor asks addresses; it resolves nothing.
floor_addresses() {
  local i
  for ((i = 0; i < pods; i++)); do printf ' %s' "$("$podbox" ip "train-$i")"; done
}

# CPU seconds so far of all that this script has started; where there is no cpuacct cgroup, of
# the whole machine.
count_cpu() {
  acct=/sys/fs/cgroup/cpuacct/muster-bench-$$
  { mkdir "$acct" && echo $$ >"$acct/tasks"; } 2>/dev/null || acct=''
}
busy() {
  if [ -n "$acct" ]; then
    awk '{ print $1 / 1e9 }' "$acct/cpuacct.usage"
  else
    awk '/^cpu / { print ($2 + $3 + $4 + $7 + $8) / 100 }' /proc/stat
  fi
}

# How many PMIx servers stand by, of those that this script has started where that is known.
standing_by() {
  if [ -n "$acct" ]; then
    sed 's,.*,/proc/&/comm,' "$acct/cgroup.procs" | { xargs grep -lsxe 'pmixd (ready)' || true; }
  else
    grep -lsxe 'pmixd (ready)' /proc/[0-9]*/comm || true
  fi | wc -l
}

all_warm() { [ "$(standing_by)" -ge $((others + pods)) ]; }

# Until a PMIx server stands by in each pod, and nothing else runs. Seconds it took go to
# `warm` when a launch was before.
wait_until_warm() {
  local start=$EPOCHREALTIME
  until_true all_warm
  [ -z "$1" ] || awk -v s="$start" -v e="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", e - s }' >>"$work/warm"
  sleep 0.3
}

# one LABEL COMMAND: its line of figures: label, wall, CPU, CPU of the ranks. Peers may fail (a
# hundred seconds are enough for all that works): they have no figures then, which is said.
one() {
  local start end cpu rc=0
  cpu=$(busy)
  start=$EPOCHREALTIME
  timeout -k 5 100 "$podbox" exec train-0 sh -c "exec $2" >"$work/out" 2>&1 </dev/null || rc=$?
  end=$EPOCHREALTIME
  if [ "$rc" != 0 ]; then
    { echo "bench: $1 failed with $rc (124: it took over 100 s):"; tail -5 "$work/out"; } >&2
    [[ $1 != muster* && $1 != floor ]] || exit 1
    failed+="|$1|"
    return 0
  fi
  awk -v l="$1" -v s="$start" -v e="$end" -v a="$cpu" -v b="$(busy)" \
    '/^rank .* CPU/ { ranks += $NF }
     END { printf "%s|%.4f|%.3f|%.3f\n", l, e - s, b - a, ranks }' "$work/out"
}

measure() {
  local round entry label took_warm='' failed=''
  for ((round = 0; round <= rounds; round++)); do # round 0 warms up
    for entry in "${commands[@]}"; do
      label=${entry%%|*}
      [[ $failed != *"|$label|"* ]] || continue
      wait_until_warm "$took_warm"
      one "$label" "${entry#*|}" >"$work/figure"
      [ "$round" = 0 ] || cat "$work/figure"
      took_warm=''
      [ "$label" != 'muster true, PMIx warm' ] || [ "$round" = 0 ] || took_warm=1
    done
  done >"$work/figures"
}

# median min max of a column of a label.
stats() {
  awk -F'|' -v l="$1" -v c="$2" '$1 == l { print $c }' "$work/figures" | sort -n |
    awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

median() { stats "$1" "$2" | cut -d' ' -f1; }

# spread FILE: median (min-max) of its lines.
spread() {
  sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.3f (%.3f-%.3f)", v[int((NR + 1) / 2)], v[1], v[NR] }'
}

report() {
  printf '%d pods, %d rounds, %s CPUs; wall and CPU seconds: median (min-max)\n' \
    "$pods" "$rounds" "$(nproc)"
  echo 'floor: a TCP message to each pod, posix_spawn of "true" there, an answer'
  [ -n "$acct" ] || echo 'no cpuacct cgroup here: CPU is that of the whole machine'
  local entry label wall wall_min wall_max cpu cpu_min cpu_max
  for entry in "${commands[@]}"; do
    label=${entry%%|*}
    [ -n "$(median "$label" 2)" ] || { printf '  %-30s   failed\n' "$label"; continue; }
    read -r wall wall_min wall_max <<<"$(stats "$label" 2)"
    read -r cpu cpu_min cpu_max <<<"$(stats "$label" 3)"
    printf '  %-30s %7.3f (%.3f-%.3f)   CPU %6.2f (%.2f-%.2f)\n' "$label" \
      "$wall" "$wall_min" "$wall_max" "$cpu" "$cpu_min" "$cpu_max"
  done
  [ ! -s "$work/warm" ] || printf 'warm again after a launch with PMIx: %s s, of them 1 s of waiting\n' "$(spread "$work/warm")"
  echo 'over the floor, (theirs - floor) / (ours - floor):'
  ratio 'muster true, --pmi none' 'pdsh true' 'Hydra true' 'mpirun true'
  ratio 'muster true, PMIx warm' 'mpirun true'
  ratio 'muster true, PMIx cold' 'mpirun true'
  ratio 'muster hello, 1 rank a pod' 'mpirun hello, 1 rank a pod'
  ratio 'muster hello, 4 ranks a pod' 'mpirun hello, 4 ranks a pod'
  [ -n "$only" ] || awk -v a="$(median 'muster true, --pmi none' 2)" -v f="$(median floor 2)" -v p="$(median 'pdsh true' 2)" \
    -v h="$(median 'Hydra true' 2)" -v m="$(median 'mpirun true' 2)" 'BEGIN {
      printf "muster true, --pmi none, is %.2f floors; as it stands mpirun takes %.1f times as long, Hydra %.1f, pdsh %.1f\n",
        a / f, m / a, h / a, p / a }'
  local l
  for l in 'muster hello, 1 rank a pod' 'muster hello, 4 ranks a pod' 'mpirun hello, 4 ranks a pod'; do
    [ -n "$(median "$l" 2)" ] || continue
    awk -v l="$l" -v c="$(median "$l" 3)" -v r="$(median "$l" 4)" -v f="$(median floor 3)" 'BEGIN {
      printf "%s: CPU beyond the floor and the ranks%s own %.2f s, the ranks%s %.2f s: %.2f\n",
        l, "\047", c - f - r, "\047", r, (c - f - r) / r }'
  done
}

ratio() {
  local ours=$1 theirs
  shift
  for theirs in "$@"; do
    [ -n "$(median "$ours" 2)" ] && [ -n "$(median "$theirs" 2)" ] || continue
    awk -v o="$(median "$ours" 2)" -v t="$(median "$theirs" 2)" -v f="$(median floor 2)" \
      -v oc="$(median "$ours" 3)" -v tc="$(median "$theirs" 3)" -v fc="$(median floor 3)" \
      -v on="$ours" -v tn="$theirs" \
      'BEGIN { printf "  %-30s against %-28s wall %6.2f   CPU %6.2f\n", on, tn,
               (t - f) / (o - f > 0 ? o - f : 1e-9), (tc - fc) / (oc - fc > 0 ? oc - fc : 1e-9) }'
  done
}

count_cpu
others=$(standing_by)
make_bed
make_leader
commands[0]="floor|$build/tests/bench/floor ask 7000$(floor_addresses)"
# Hydra's proxies call back by this name; "train-0" alone is none in DNS.
commands=("${commands[@]//LEADER/$("$podbox" ip train-0)}")
if [ -n "$only" ]; then
  mapfile -t commands < <(printf '%s\n' "${commands[@]}" | grep -E "^floor\||^[^|]*($only)")
fi
measure
report

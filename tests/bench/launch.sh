#!/usr/bin/env bash
# ./dev bench launch [--pods N] [--rounds R]: how long a launch takes, beside mpirun, Hydra and
# pdsh on the same emulated pods in the same run, over the floor (a bare TCP message to each
# pod, posix_spawn of `true` there, an answer). Rounds are interleaved, so that a machine that
# slows down slows all of them; figures are medians with min and max, and ratios.
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev bench launch}
podbox=$build/tests/podbox/podbox
muster=$build/launcher/muster
hello=$build/tests/mpi/hello
pods=8 rounds=5
while [ $# -gt 0 ]; do
  case $1 in
    --pods) pods=$2 ;;
    --rounds) rounds=$2 ;;
    *) echo "bench launch: what is $1? --pods N, --rounds R" >&2; exit 2 ;;
  esac
  shift 2
done
[ "$(id -u)" = 0 ] || { echo "bench launch: emulated pods need root" >&2; exit 77; }

work=$(mktemp -d)
export PODBOX_BED=bench-$$ PODBOX_BIND=$build
trap '"$podbox" down >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

last=$((pods - 1))
names=$(seq -f 'train-%.0f.train' -s ' ' 0 $last)
group="--key /root/.ssh --pods train-[0-$last].train"

make_bed() {
  mkdir "$work/key"
  ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f "$work/key/id_rsa"
  cp "$work/key/id_rsa.pub" "$work/key/authorized_keys"
  "$podbox" volume put key "$work/key" --mode 0600 >/dev/null
  "$podbox" up "$pods" --name train --secret key:/root/.ssh:0600 >/dev/null
  local i
  for ((i = 0; i < pods; i++)); do
    "$podbox" exec "train-$i" -d "$build/agent/musterd" --key /root/.ssh
    "$podbox" exec "train-$i" -d "$build/tests/bench/floor" serve 7000
    "$podbox" exec "train-$i" mkdir -p /run/sshd
    "$podbox" exec "train-$i" -d /usr/sbin/sshd -D -f /dev/null -h /root/.ssh/id_rsa \
      -o UsePAM=no -o StrictModes=no -o PidFile=none -o MaxStartups=1000 \
      -o AuthorizedKeysFile=/root/.ssh/authorized_keys
  done
}

# What the leader needs: ssh without questions, hostfiles, and the loop that measures.
make_leader() {
  "$podbox" exec train-0 sh -c 'cat >/etc/ssh/ssh_config' <<'EOF'
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
IdentityFile /root/.ssh/id_rsa
EOF
  local slots
  for slots in 1 4; do
    for n in $names; do echo "$n slots=$slots"; done |
      "$podbox" exec train-0 sh -c "cat >/tmp/hosts.$slots"
  done
  for n in $names; do echo "$n"; done | "$podbox" exec train-0 sh -c 'cat >/tmp/hosts'
}

mpirun="mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl_base_warn_component_unused 0 --mca orte_keep_fqdn_hostnames 1"
commands=(
  "floor|" # needs the addresses
  "muster true, --pmi none|$muster run -q $group --slots 1 --pmi none true"
  "muster true, PMIx|$muster run -q $group --slots 1 true"
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

busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

measure() {
  local round entry label command rc start end cpu
  for ((round = 0; round <= rounds; round++)); do # round 0 warms up
    for entry in "${commands[@]}"; do
      label=${entry%%|*} command=${entry#*|}
      cpu=$(busy)
      start=$EPOCHREALTIME rc=0
      timeout 120 "$podbox" exec train-0 sh -c "exec $command" >"$work/out" 2>&1 </dev/null || rc=$?
      end=$EPOCHREALTIME
      [ "$rc" = 0 ] || { echo "bench: $label failed with $rc:"; tail -5 "$work/out"; exit 1; } >&2
      [ "$round" = 0 ] || awk -v l="$label" -v s="$start" -v e="$end" -v a="$cpu" -v b="$(busy)" \
        'BEGIN { printf "%s|%.4f|%.2f\n", l, e - s, (b - a) / 100 }'
    done
  done >"$work/figures"
}

# median min max of a column of a label.
stats() {
  awk -F'|' -v l="$1" -v c="$2" '$1 == l { print $c }' "$work/figures" | sort -n |
    awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

median() { stats "$1" "$2" | cut -d' ' -f1; }

report() {
  printf '%d pods, %d rounds, %s CPUs; wall and whole-machine CPU seconds: median (min-max)\n' \
    "$pods" "$rounds" "$(nproc)"
  local entry label wall wall_min wall_max cpu cpu_min cpu_max
  for entry in "${commands[@]}"; do
    label=${entry%%|*}
    read -r wall wall_min wall_max <<<"$(stats "$label" 2)"
    read -r cpu cpu_min cpu_max <<<"$(stats "$label" 3)"
    printf '  %-30s %7.3f (%.3f-%.3f)   CPU %6.2f (%.2f-%.2f)\n' "$label" \
      "$wall" "$wall_min" "$wall_max" "$cpu" "$cpu_min" "$cpu_max"
  done
  echo 'over the floor, (theirs - floor) / (ours - floor):'
  ratio 'muster true, --pmi none' 'pdsh true' 'Hydra true' 'mpirun true'
  ratio 'muster true, PMIx' 'mpirun true'
  ratio 'muster hello, 1 rank a pod' 'mpirun hello, 1 rank a pod'
  ratio 'muster hello, 4 ranks a pod' 'mpirun hello, 4 ranks a pod'
  awk -v a="$(median 'muster true, --pmi none' 2)" -v f="$(median floor 2)" \
    'BEGIN { printf "muster true, --pmi none, is %.2f floors\n", a / f }'
}

ratio() {
  local ours=$1 theirs
  shift
  for theirs in "$@"; do
    awk -v o="$(median "$ours" 2)" -v t="$(median "$theirs" 2)" -v f="$(median floor 2)" \
      -v oc="$(median "$ours" 3)" -v tc="$(median "$theirs" 3)" -v fc="$(median floor 3)" \
      -v on="$ours" -v tn="$theirs" \
      'BEGIN { printf "  %-30s against %-28s wall %6.2f   CPU %6.2f\n", on, tn,
               (t - f) / (o - f > 0 ? o - f : 1e-9), (tc - fc) / (oc - fc > 0 ? oc - fc : 1e-9) }'
  done
}

make_bed
make_leader
commands[0]="floor|$build/tests/bench/floor ask 7000$(floor_addresses)"
# Hydra's proxies call back by this name; "train-0" alone is none in DNS.
commands=("${commands[@]//LEADER/$("$podbox" ip train-0)}")
measure
report

#!/usr/bin/env bash
# ./dev demo: the whole way on this machine. As root 4 emulated pods with their own network
# and a DNS server; else 4 agents on loopback addresses. Ends with "demo: ok".
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev demo}
muster=$build/launcher/muster
musterd=$build/agent/musterd
podbox=$build/tests/podbox/podbox
mpi=$build/tests/mpi
work=$(mktemp -d)
export PODBOX_BED=demo-$$
agents=()

finish() {
  local pid
  for pid in "${agents[@]}"; do kill "$pid" 2>/dev/null || true; done
  [ "$(id -u)" != 0 ] || "$podbox" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }

# phases: how long each state of the job took, from its event log on stdin.
phases() {
  sed -n 's/.*"t":\([0-9.]*\).*"event":"state","from":"\([a-z]*\)","to":"\([a-z]*\)".*/\1 \2/p' |
    awk '{ printf "%s%s %.0f ms", (NR > 1 ? ", " : "   phases: "), $2, ($1 - last) * 1000; last = $1 }
         END { print "" }'
}

# run TITLE PROGRAM MUSTER-ARGS...: in the leader (a pod, or this machine).
run() {
  local title=$1 program=$2
  shift 2
  say "$title"
  printf '   muster run %s %s\n' "$*" "$(basename "$program")"
  "${leader[@]}" "$muster" run --events "$events" "$@" "$program" | sed 's/^/   /'
  "${leader[@]}" cat "$events" | phases
}

pods() {
  mkdir "$work/cm"
  "$muster" keygen "$work/key" >/dev/null
  "$podbox" volume put key "$work/key" >/dev/null
  printf '# no pods yet\n' >"$work/cm/hostfile"
  "$podbox" volume put group "$work/cm" >/dev/null
  say "4 pods, the agent in each, a DNS server for the headless Service \"train\""
  "$podbox" up 4 --name train --bind "$build" --secret key:/etc/muster/ssh \
    --volume group:/etc/muster/group -- "$musterd" | sed 's/^/   /'
  for i in 0 1 2 3; do echo "$("$podbox" ip train-$i) slots=2"; done >"$work/cm/hostfile"
  "$podbox" volume put group "$work/cm" >/dev/null
  leader=("$podbox" exec train-0)
  events=/tmp/events # in the pod
  run "who ran where (members from DNS)" "$mpi/hello" --dns train --slots 2 -n 8
  run "a ring (members from DNS)" "$mpi/ring" --dns train --slots 2 -n 8
  run "allreduce with checked sums (members by ordinal names)" "$mpi/allreduce" \
    --pods 'train-[0-3].train' --slots 2
  run "the same from the IP hostfile in the ConfigMap volume" "$mpi/allreduce" \
    --hostfile /etc/muster/group/hostfile
}

loopback() {
  say "no root: 4 agents on loopback addresses instead of emulated pods and DNS"
  "$muster" keygen "$work/key" >/dev/null
  export MUSTER_KEY_DIR=$work/key
  for i in 2 3 4 5; do
    "$musterd" --listen "127.0.0.$i" 2>"$work/musterd.$i" &
    agents+=($!)
    echo "127.0.0.$i slots=2" >>"$work/hostfile"
  done
  leader=(env)
  events=$work/events
  run "who ran where (members from --host)" "$mpi/hello" \
    --host 127.0.0.2:2,127.0.0.3:2,127.0.0.4:2,127.0.0.5:2
  run "a ring" "$mpi/ring" --hostfile "$work/hostfile"
  run "allreduce with checked sums (members from a hostfile)" "$mpi/allreduce" \
    --hostfile "$work/hostfile"
}

if [ "$(id -u)" = 0 ]; then pods; else loopback; fi
leader=(env)
events=$work/events
run "this machine alone: no agent, no key, no root" "$mpi/allreduce" --local -n 2
printf '\ndemo: ok\n'

#!/usr/bin/env bats
# The launcher's roll in the pods' hosts and hostfiles: pushed down the tree, handed over by
# the agents, applied by the sidecars before any rank starts, and let go with its lease.

setup() {
  load helper
  load muster
  bed_setup
  sidecar=$MUSTER_BUILDDIR/sidecar/muster-sidecar
}

teardown() { bed_teardown; }

in_pod() { "$podbox" exec "$@"; }

# pods_with_agents N [UP-OPTION...]: and the directory that agent and sidecar share.
pods_with_agents() {
  local i
  pods_up "$@"
  for ((i = 0; i < $1; i++)); do in_pod "train-$i" mkdir -p /run/muster; done
  start_agents "$1"
}

# start_sidecar POD ARGS...: its own source is an old list.
start_sidecar() {
  local pod=$1
  shift
  in_pod "$pod" -d "$sidecar" --log json --hosts --write openmpi:/run/muster/hostfile \
    --hostfile /etc/muster/group/hostfile "$@"
}

# bed N [UP-OPTION...]: N pods, each with agent and sidecar, whose ConfigMap is old.
bed() {
  local i
  mkdir -p "$BATS_TEST_TMPDIR/cm"
  echo "10.9.9.9 slots=1" >"$BATS_TEST_TMPDIR/cm/hostfile"
  pods_with_agents "$@"
  for ((i = 0; i < $1; i++)); do start_sidecar "train-$i"; done
  for ((i = 0; i < $1; i++)); do wait_for 20 hostfile_is "train-$i" "10.9.9.9 slots=1"; done
}

hostfile_is() { # POD TEXT, without the mark
  [ "$(in_pod "$1" tail -n +2 /run/muster/hostfile)" = "$2" ]
}

# has_address POD NAME ADDRESS: what the pod's /etc/hosts says.
has_address() {
  in_pod "$1" grep -qE "^$3 +([^ #]+ )*$2( |\$)" /etc/hosts
}

# addresses N [SLOTS]: the pods' addresses as a hostfile.
addresses() {
  local i
  for ((i = 0; i < $1; i++)); do echo "$(pb ip "train-$i")${2:+ slots=$2}"; done
}

# What a rank sees of its pod's files.
# shellcheck disable=SC2016  # expanded by the rank
look='echo "hostfile $(tail -n +2 /run/muster/hostfile | tr "\n" ,)"
      echo "hosts $(grep -E "^[0-9].*train-" /etc/hosts | grep -v "$(hostname)\$" | awk "{print \$1}" | sort -u | tr "\n" ,)"'

@test "hosts and hostfiles are right in every pod before a rank starts: star and tree" {
  bed 4
  want=$(addresses 4 2 | tr '\n' ,)
  for fanout in 64 2; do
    run --separate-stderr -0 lead timeout 60 "$muster" run --fanout $fanout --pods 'train-[0-3].train' \
      --slots 2 --pmi none sh -c "$look"
    [ "$(grep -cFx "hostfile $want" <<<"$output")" = 8 ]
    # When the job has ended the own source counts again.
    for i in 0 1 2 3; do wait_for 20 hostfile_is "train-$i" "10.9.9.9 slots=1"; done
  done
}

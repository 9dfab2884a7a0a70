# Helpers for tests with a stock sshd in the pods, as mpi-operator's images have it: one
# ECDSA P-521 key is identity, authorized key and host key; no PAM, no StrictModes.
# Load after helper.bash and muster.bash.
# shellcheck disable=SC2034  # what functions set for the tests that load this
# shellcheck disable=SC2154  # podbox: of muster.bash

sshd=/usr/sbin/sshd
ring=/root/.ssh # where mpi-operator mounts its Secret for root

# secret_make DIR: a Secret as mpi-operator makes it.
secret_make() {
  mkdir -p "$1"
  ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f "$1/id_rsa"
  cp "$1/id_rsa.pub" "$1/authorized_keys"
}

# ssh_pods N [UP-OPTION...]: pods train-0 ... with the Secret, and nothing that listens.
ssh_pods() {
  local n=$1
  shift
  [ -x "$sshd" ] || skip "no $sshd: install openssh-server"
  secret_make "$BATS_TEST_TMPDIR/key"
  mkdir -p "$BATS_TEST_TMPDIR/cm"
  "$podbox" volume put key "$BATS_TEST_TMPDIR/key" --mode 0600 >/dev/null
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  "$podbox" up "$n" --name train --secret "key:$ring:0600" \
    --volume group:/etc/muster/group "$@" >/dev/null
}

# in_pod POD: run a script (stdin) as root in the pod.
in_pod() { "$podbox" exec "$1" sh -eu; }

# sshd_start POD [PORT [HOST-KEY [OPTION...]]]: root's sshd, when it listens.
sshd_start() {
  local pod=$1 port=${2:-22} hostkey=${3:-$ring/id_rsa}
  shift $(($# < 3 ? $# : 3))
  "$podbox" exec "$pod" mkdir -p -m 0755 /run/sshd
  "$podbox" exec "$pod" -d "$sshd" -D -e -f /dev/null -p "$port" -h "$hostkey" \
    -o UsePAM=no -o StrictModes=no -o PidFile=none \
    -o "AuthorizedKeysFile=$ring/authorized_keys" "$@"
  wait_for 10 listens "$pod" "$port"
}

listens() {
  "$podbox" exec "$1" bash -c "exec 3<>/dev/tcp/127.0.0.1/$2"
}

# user_make POD UID NAME SHELL: an account in the pod with the group's key.
user_make() {
  in_pod "$1" <<SCRIPT
echo '$3:x:$2:$2::/home/$3:${4:-/bin/bash}' >>/etc/passwd
echo '$3:x:$2:' >>/etc/group
mkdir -p /home/$3/.ssh
cp $ring/id_rsa $ring/authorized_keys /home/$3/.ssh
chmod 0600 /home/$3/.ssh/id_rsa
chown -R $2:$2 /home/$3
SCRIPT
}

# sshd_start_as POD NAME UID PORT: an ordinary user's sshd, as in mpi-operator's
# non-root images.
sshd_start_as() {
  "$podbox" exec "$1" -d setpriv --reuid "$3" --regid "$3" --clear-groups \
    "$sshd" -D -e -f /dev/null -p "$4" -h "/home/$2/.ssh/id_rsa" \
    -o UsePAM=no -o StrictModes=no -o PidFile=none
  wait_for 10 listens "$1" "$4"
}

# sshds N: root's sshd on port 22 in all pods.
sshds() {
  local i
  for ((i = 0; i < $1; i++)); do sshd_start "train-$i"; done
}

# via ARGS...: muster run --via ssh in the leader, with the Secret's key.
via() { lead timeout 90 "$muster" run --via ssh --key "$ring" "$@"; }

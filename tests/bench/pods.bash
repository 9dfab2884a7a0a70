# Pods for benches that run peers beside Muster: agents, and sshd with the same Ed25519 key.
# shellcheck disable=SC2154  # work, podbox, muster: of the bench

key=/etc/muster/ssh/ssh-privatekey

# bench_pods N [UP-OPTION...]: pods train-0 ... that hold the group's key; nothing runs in them.
bench_pods() {
  "$muster" keygen "$work/key" >/dev/null
  "$podbox" volume put key "$work/key" --mode 0600 >/dev/null
  "$podbox" up "$@" --name train --secret key:/etc/muster/ssh:0600 >/dev/null
}

# sshd_in POD: on port 22, for root.
sshd_in() {
  "$podbox" exec "$1" mkdir -p /run/sshd
  "$podbox" exec "$1" -d /usr/sbin/sshd -D -f /dev/null -h $key -o UsePAM=no -o StrictModes=no \
    -o PidFile=none -o MaxStartups=1000 -o AuthorizedKeysFile=/etc/muster/ssh/ssh-publickey
}

# quiet_ssh_in POD: its ssh asks no questions.
quiet_ssh_in() {
  "$podbox" exec "$1" sh -c 'cat >/etc/ssh/ssh_config' <<EOF
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
IdentityFile $key
EOF
}

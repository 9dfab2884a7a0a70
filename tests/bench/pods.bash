# What the benches on emulated pods share: pods, which end with the script, agents, and sshd with the same
# Ed25519 key for peers. Sourced with the bench's name in `bench`; waits are bounded by `limit` seconds.
# shellcheck disable=SC2154  # bench, limit, job: of the bench

build=${MUSTER_BUILDDIR:?run this through ./dev bench $bench}
podbox=$build/tests/podbox/podbox
muster=$build/launcher/muster
key=/etc/muster/ssh/ssh-privatekey

[ "$(id -u)" = 0 ] || { echo "bench $bench: emulated pods need root" >&2; exit 77; }
work=$(mktemp -d)
export PODBOX_BED=bench-$$ PODBOX_BIND=$build

bench_end() {
  "$podbox" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap bench_end EXIT

# bench_pods N [UP-OPTION...]: pods train-0 ... that hold the group's key; nothing runs in them.
bench_pods() {
  "$muster" keygen "$work/key" >/dev/null
  "$podbox" volume put key "$work/key" --mode 0600 >/dev/null
  "$podbox" up "$@" --name train --secret key:/etc/muster/ssh:0600 >/dev/null
}

agent_in() { "$podbox" exec "$1" -d "$build/agent/musterd"; }

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

# processes_of POD PATTERN: host pids.
processes_of() { "$podbox" ps "$1" 2>/dev/null | awk -v p="$2" '$0 ~ p { print $1 }'; }
ended() { ! kill -0 "$1"; }

# until_true CMD...: else the ends of $work/*.err are shown.
until_true() {
  local end=$((EPOCHSECONDS + limit))
  until "$@" 2>/dev/null; do
    if [ $EPOCHSECONDS -ge $end ]; then
      echo "bench $bench: not within $limit s: $*" >&2
      tail -n 15 "$work"/*.err >&2 2>/dev/null || true
      return 1
    fi
    sleep 0.02
  done
}

# stop_launcher POD: and the job that runs in the background as `job`.
stop_launcher() {
  kill -TERM "$(processes_of "$1" 'launcher/muster run')"
  until_true ended "$job"
}

# stats WHO WHAT: median, min, max of the seconds in the lines WHO|WHAT|SECONDS of $work/figures; nothing where
# there are none.
stats() {
  awk -F'|' -v w="$1" -v r="$2" '$1 == w && $2 == r { print $3 }' "$work/figures" | sort -n |
    awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

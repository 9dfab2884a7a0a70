#!/usr/bin/env bats
# muster run --via ssh: pods with a stock sshd and no agent.

setup() {
  load helper
  load muster
  load sshd
  bed_setup
}

teardown() { bed_teardown; }

pods4="--pods train-[0-3].train --slots 2"

@test "Open MPI hello and allreduce on 8 ranks over 4 pods, through root's sshd only" {
  ssh_pods 4
  sshds 4
  run --separate-stderr via $pods4 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 8 on train-[0-3], shared 2' <<<"$output")" = 8 ]
  [ -z "$stderr" ]
  run via $pods4 "$mpi/allreduce"
  [ "$status" = 0 ]
  wait_for 5 nothing_left 4
}

@test "an ordinary user's sshd on 2222, the user named by option, name or line" {
  ssh_pods 2
  for pod in train-0 train-1; do
    user_make $pod 2345 mpiuser
    sshd_start_as $pod mpiuser 2345 2222
  done
  run --separate-stderr lead timeout 60 "$muster" run --via ssh:2222 --key "$ring" --user mpiuser \
    --pods 'train-[0-1].train' --slots 1 sh -c 'echo "$RANK $(id -un)"'
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = $'0 mpiuser\n1 mpiuser' ]
  printf '%s\n' "$("$podbox" ip train-0) user=mpiuser port=2222" \
    "mpiuser@$("$podbox" ip train-1) port=2222" >"$BATS_TEST_TMPDIR/cm/hostfile"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  run --separate-stderr via --hostfile /etc/muster/group/hostfile -n 2 --ppn 1 id -un
  [ "$status" = 0 ]
  [ "$output" = $'mpiuser\nmpiuser' ]
}

@test "inner vertices of the tree log in too: fan-out 2 over 7 pods" {
  ssh_pods 7
  sshds 7
  run --separate-stderr via --fanout 2 --pods 'train-[0-6].train' --slots 1 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 7 on train-[0-6], shared 1' <<<"$output")" = 7 ]
  # One of them cannot: it is named, and why.
  "$podbox" exec train-6 pkill -x sshd
  run via --fanout 2 --wait 2 --pods 'train-[0-6].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"train-6"*"connection refused"* ]]
}

@test "much output and a rank's exit code come through the one channel" {
  ssh_pods 2
  sshds 2
  run --separate-stderr via --pods 'train-[0-1].train' --slots 2 \
    sh -c 'seq 1 200000; echo end >&2; exit $((RANK == 3 ? 7 : 0))'
  [ "$status" = 7 ]
  [ "$(grep -c '^200000$' <<<"$output")" -ge 1 ]
  run --separate-stderr via --pods 'train-[0-1].train' --slots 2 seq 1 200000
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 800000 ]
}

@test "kill -9 of the launcher leaves nothing" {
  ssh_pods 4
  sshds 4
  measure_launch --via ssh --key "$ring" $pods4
  start_hang --via ssh --key "$ring" $pods4
  kill -KILL "$(pids_of train-0 'muster run' | head -1)"
  wait_for "$(bound_s 8)" nothing_left 4
  wait_for 5 no_agents 4
}

no_agents() {
  local i
  for ((i = 0; i < $1; i++)); do ! pids_of "train-$i" 'musterd --stdio' | grep -q . || return 1; done
}

@test "kill -9 of an agent that sshd started: the member is named" {
  ssh_pods 4
  sshds 4
  measure_launch --via ssh --key "$ring" $pods4
  start_hang --via ssh --key "$ring" --grace 1 $pods4
  kill -KILL "$(pids_of train-2 'musterd --stdio' | head -1)"
  ends_within "$(bound_s 5)" "$launcher_job"
  [ "$code" = 125 ]
  grep -q '^muster: member train-2.*was lost: its musterd ended without a goodbye' "$out"
  wait_for 5 nothing_left 4
}

@test "the leader itself needs no sshd: its own agent is a child of the launcher" {
  ssh_pods 3
  sshd_start train-1
  sshd_start train-2
  run --separate-stderr via --pods 'train-[0-2].train' --slots 2 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 6 on train-[0-2], shared 2' <<<"$output")" = 6 ]
}

# ---- the agent's program ------------------------------------------------------

pushed() { "$podbox" exec "$1" sh -c 'ls -di /tmp/muster-agent-*/* 2>/dev/null'; }

@test "--push-agent: brought once, found by its hash, mended when it is not the same" {
  ssh_pods 2
  sshds 2
  push="--push-agent --pods train-[0-1].train --slots 2"
  run --separate-stderr via $push "$mpi/hello"
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 4 ]
  first=$(pushed train-1)
  [ "$(grep -cE '/muster-agent-[0-9a-f]{16}-0/muster(d|-pmixd)$' <<<"$first")" = 2 ]
  [ "$("$podbox" exec train-1 sh -c 'stat -c %a /tmp/muster-agent-*')" = 700 ]
  run via $push true
  [ "$status" = 0 ]
  [ "$(pushed train-1)" = "$first" ] # the same inodes: nothing was uploaded
  "$podbox" exec train-1 sh -c 'echo x >>"$(echo /tmp/muster-agent-*/musterd)"'
  run via $push true
  [ "$status" = 0 ]
  "$podbox" exec train-1 sh -c "cmp $musterd /tmp/muster-agent-*/musterd"
  [ "$(pushed train-1 | grep -c .)" = 2 ]
}

@test "--push-agent: inner vertices bring it on, a chain of 3 pods" {
  ssh_pods 3
  sshds 3
  run --separate-stderr via --push-agent --fanout 1 --pods 'train-[0-2].train' --slots 1 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 3 on train-[0-2]' <<<"$output")" = 3 ]
  "$podbox" exec train-2 sh -c "cmp $musterd /tmp/muster-agent-*/musterd"
}

@test "an inner vertex without the key ring: the file and a way without it are named" {
  ssh_pods 3
  sshds 3
  in_pod train-0 <<<'mkdir -m 0700 /run/ring; cp /root/.ssh/id_rsa /run/ring; chmod 0600 /run/ring/id_rsa'
  run lead timeout 60 "$muster" run --via ssh --key /run/ring --fanout 1 \
    --pods 'train-[0-2].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-2"*"--fanout N"*"key ring /run/ring"* ]]
}

@test "--push-agent: somebody else's directory is neither used nor touched" {
  ssh_pods 2
  sshds 2
  via --push-agent --pods 'train-[0-0].train' --slots 1 true
  dir=$("$podbox" exec train-0 sh -c 'echo /tmp/muster-agent-*')
  in_pod train-1 <<<"mkdir -m 0777 $dir; chown 1234 $dir; touch $dir/musterd"
  run via --push-agent --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"--push-agent"*"$dir is somebody else's"* ]]
  [ "$("$podbox" exec train-1 stat -c '%u %a' "$dir")" = "1234 777" ]
}

@test "--push-agent into a full temporary directory: the reason is told, no rest is left" {
  ssh_pods 2
  sshds 2
  in_pod train-1 <<<'pkill -x sshd; head -c 80M /dev/zero >/dev/shm/full || true'
  sshd_start train-1 22 "$ring/id_rsa" -o SetEnv=TMPDIR=/dev/shm
  run via --push-agent --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"muster"*"could not be written: "*"No space left"* ]]
  [ -z "$("$podbox" exec train-1 find /dev/shm -name 'muster*' -type f)" ]
}

@test "case ssh-09: an agent elsewhere, named by a path; absent: host, path and remedy" {
  ssh_pods 2
  sshds 2
  for pod in train-0 train-1; do
    in_pod $pod <<<"mkdir -p /opt/x/bin; cp $musterd ${musterd%d}-pmixd /opt/x/bin"
  done
  run --separate-stderr via --agent-path /opt/x/bin/musterd --pods 'train-[0-1].train' \
    --slots 1 "$mpi/hello"
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 2 ]
  "$podbox" exec train-1 rm /opt/x/bin/musterd
  run -127 via --agent-path /opt/x/bin/musterd --pods 'train-[0-1].train' --slots 1 true
  [[ "$output" == *"member train-1"*"REMOTE_EXEC_NOT_FOUND"*"$("$podbox" ip train-1):22"* ]]
  [[ "$output" == *"/opt/x/bin/musterd"*"--agent-path"*"--push-agent"* ]]
  in_pod train-1 <<<"cp $musterd /opt/x/bin; chmod 644 /opt/x/bin/musterd"
  run via --agent-path /opt/x/bin/musterd --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 126 ]
  [[ "$output" == *"/opt/x/bin/musterd"*"cannot be executed"* ]]
}

@test "an agent that is no program for this machine: what the shell said is told" {
  ssh_pods 2
  sshds 2
  in_pod train-1 <<'SCRIPT'
mkdir -p /opt/y
printf '#!/bin/sh\necho musterd: error while loading shared libraries: libssh.so.4 >&2\nexit 127\n' >/opt/y/musterd
chmod 755 /opt/y/musterd
SCRIPT
  in_pod train-0 <<<"mkdir -p /opt/y; cp $musterd ${musterd%d}-pmixd /opt/y"
  run via --agent-path /opt/y/musterd --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"exit status 127"*"libssh.so.4"*"needs the libraries"* ]]
}

# ---- shells -------------------------------------------------------------------

@test "noise before the first frame: banner, .bashrc with and without a newline" {
  ssh_pods 2
  sshd_start train-0
  "$podbox" exec train-1 sh -c 'echo "All use is logged" >/etc/issue.net'
  sshd_start train-1 22 "$ring/id_rsa" -o Banner=/etc/issue.net
  in_pod train-1 <<'SCRIPT'
cat >/root/.bashrc <<'EOF_RC'
echo "Welcome to the GPU pod!"
seq 1 3000
echo "a word on stderr" >&2
touch /run/bashrc-ran
printf 'no newline'
EOF_RC
SCRIPT
  run --separate-stderr via --pods 'train-[0-1].train' --slots 2 "$mpi/hello"
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 4 ]
  "$podbox" exec train-1 test -e /run/bashrc-ran
  # A shell that never comes to the agent, one that only talks, one that says nothing.
  in_pod train-1 <<<'echo "echo Contact your admin; exit 3" >/root/.bashrc'
  run via --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"exit status 3"*"it said: 'Contact your admin'"* ]]
  in_pod train-1 <<<'echo "exec yes" >/root/.bashrc'
  run via --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"more than 64 KiB came"*"y|y|y"* ]]
}

@test "case ssh-11: values and paths arrive byte for byte, no shell reads them" {
  ssh_pods 2
  sshds 2
  dir="/opt/it's a \$(touch /run/pwned) \"path\"; #\`id\`"
  for pod in train-0 train-1; do
    "$podbox" exec $pod mkdir -p "$dir"
    "$podbox" exec $pod cp "$musterd" "${musterd%d}-pmixd" "$dir"
  done
  # One rank: lines of two may mix, and one value has two.
  via --agent-path "$dir/musterd" --pods 'train-[1-1].train' --slots 1 \
    -x 'A=64(x2)' -x 'B=a b' -x $'C=l1\nl2' -x 'D=$(id)' -x 'E=x=y=z' \
    -x 'BASH_FUNC_ml%%=() { :; }' env -0 | tr '\0\n' '\n|' >"$BATS_TEST_TMPDIR/env"
  for entry in 'A=64(x2)' 'B=a b' 'C=l1|l2' 'D=$(id)' 'E=x=y=z' 'BASH_FUNC_ml%%=() { :; }'; do
    grep -qxF "$entry" "$BATS_TEST_TMPDIR/env"
  done
  for pod in train-0 train-1; do
    run "$podbox" exec $pod test -e /run/pwned
    [ "$status" = 1 ]
  done
}

@test "case ssh-12: a value that holds '=' is whole" {
  ssh_pods 1
  sshds 1
  run --separate-stderr via --pods 'train-[0-0].train' --slots 1 -x 'NX_ARGS=--a --b=c' \
    sh -c 'printf "%s\n" "$NX_ARGS"'
  [ "$status" = 0 ]
  [ "$output" = '--a --b=c' ]
}

@test "case ssh-10: the agent needs no variable; LD_LIBRARY_PATH reaches the ranks" {
  ssh_pods 1
  "$podbox" exec train-0 mkdir -p -m 0755 /run/sshd
  "$podbox" exec train-0 -d env -i "$sshd" -D -f /dev/null -h "$ring/id_rsa" -o UsePAM=no \
    -o StrictModes=no -o "SetEnv=PATH=/bin" -o PidFile=none
  wait_for 10 listens train-0 22
  run --separate-stderr via --pods 'train-[0-0].train' --slots 1 -x LD_LIBRARY_PATH=/opt/lib \
    sh -c 'echo "$LD_LIBRARY_PATH"'
  [ "$status" = 0 ]
  [ "$output" = /opt/lib ]
}

# ---- keys, hosts and users ----------------------------------------------------

@test "case ssh-03: another host key on a member's address is refused by name" {
  ssh_pods 2
  sshd_start train-0
  "$podbox" exec train-1 ssh-keygen -q -t ed25519 -N '' -f /run/other
  sshd_start train-1 22 /run/other
  print=$("$podbox" exec train-1 ssh-keygen -lf /run/other.pub | awk '{ print $2 }')
  run via --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"PEER_UNTRUSTED"*"$print"*"--host-keys FILE"* ]]
  # A known_hosts file makes it known, for this host alone.
  {
    echo '# by name, on the port that needs no brackets'
    echo "train-1.train $("$podbox" exec train-1 cat /run/other.pub)"
  } >"$BATS_TEST_TMPDIR/cm/known"
  echo "train-9.train $("$podbox" exec train-1 cat /run/other.pub)" >"$BATS_TEST_TMPDIR/cm/foreign"
  echo "train-1.train ssh-ed25519 not-a-key" >"$BATS_TEST_TMPDIR/cm/bad"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  via --host-keys /etc/muster/group/known --pods 'train-[0-1].train' --slots 1 true
  run via --host-keys /etc/muster/group/foreign --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"PEER_UNTRUSTED"* ]]
  run via --host-keys /etc/muster/group/bad --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"--host-keys /etc/muster/group/bad:1: the key is malformed"* ]]
  # Any key at all: it works, and the risk is told once.
  run --separate-stderr via --host-keys accept --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 0 ]
  [ "$(grep -c 'host keys are not checked' <<<"$stderr")" = 1 ]
}

@test "a wrong key: user, host, fingerprint and hints are named" {
  ssh_pods 2
  sshds 2
  in_pod train-0 <<'SCRIPT'
mkdir -m 0700 /run/wrong
ssh-keygen -q -t ed25519 -N '' -f /run/wrong/ssh-privatekey
cp /root/.ssh/id_rsa.pub /run/wrong/authorized_keys # knows the hosts
SCRIPT
  print=$(lead ssh-keygen -lf /run/wrong/ssh-privatekey.pub | awk '{ print $2 }')
  run lead timeout 60 "$muster" run --via ssh --key /run/wrong --pods 'train-[1-1].train' \
    --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"$("$podbox" ip train-1):22"*"user root"*"$print"* ]]
  [[ "$output" == *"StrictModes"* ]]
}

@test "case ssh-01: a key that others can read, in a Secret and elsewhere" {
  ssh_pods 2
  "$podbox" volume put key "$BATS_TEST_TMPDIR/key" --mode 0644 >/dev/null
  "$podbox" exec train-1 install -m 0600 "$ring/id_rsa" /run/hostkey
  sshd_start train-1 22 /run/hostkey
  in_pod train-0 <<<'chmod 755 /root; mkdir -m 0755 /run/copy; cp /root/.ssh/id_rsa /run/copy; chmod 0644 /run/copy/id_rsa'
  as_1000="setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/nowhere"
  run --separate-stderr lead $as_1000 timeout 60 "$muster" run --via ssh --user root \
    --key "$ring" --pods 'train-[1-1].train' --slots 1 hostname
  [ "$status" = 0 ]
  [ "$output" = train-1 ]
  [[ "$stderr" == *"$ring/id_rsa: mode 0644"*"read-only"* ]]
  run lead $as_1000 timeout 60 "$muster" run --via ssh --user root --key /run/copy \
    --pods 'train-[1-1].train' --slots 1 hostname
  [ "$status" = 125 ]
  [[ "$output" == *"/run/copy/id_rsa: mode 0644"*"chmod 600"* ]]
}

@test "case ssh-01: sshd with StrictModes: the refusal names it" {
  ssh_pods 2
  sshd_start train-0
  in_pod train-1 <<<'mkdir -m 0777 /run/loose; cp /root/.ssh/authorized_keys /run/loose; chmod 0666 /run/loose/authorized_keys'
  "$podbox" exec train-1 mkdir -p -m 0755 /run/sshd
  "$podbox" exec train-1 -d "$sshd" -D -f /dev/null -h "$ring/id_rsa" -o UsePAM=no \
    -o PidFile=none -o AuthorizedKeysFile=/run/loose/authorized_keys
  wait_for 10 listens train-1 22
  run via --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"member train-1"*"lets user root not in"*"StrictModes no"* ]]
}

@test "case ssh-02: nothing is written below HOME, here or there" {
  ssh_pods 2
  sshds 2
  before=$(home_state)
  via --push-agent --pods 'train-[0-1].train' --slots 1 true
  [ "$(home_state)" = "$before" ]
}

home_state() {
  local pod
  for pod in train-0 train-1; do
    "$podbox" exec $pod find /root -printf '%p %s %T@ %i\n' | sort
  done
}

@test "case ssh-07: sshd comes late, or never" {
  ssh_pods 2
  sshd_start train-0
  (
    sleep 4 # the lateness is what is tested
    sshd_start train-1
  ) &
  run via --pods 'train-[0-1].train' --slots 1 true
  wait
  [ "$status" = 0 ]
  "$podbox" exec train-1 pkill -x sshd
  run via --wait 2 --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"--wait"*"train-1"*"connection refused"*"sshd"* ]]
}

@test "case ssh-15: a launcher with an arbitrary uid, no passwd line and no HOME" {
  ssh_pods 2
  "$podbox" volume put key "$BATS_TEST_TMPDIR/key" --mode 0644 >/dev/null
  "$podbox" exec train-1 install -m 0600 "$ring/id_rsa" /run/hostkey
  sshd_start train-1 22 /run/hostkey
  in_pod train-0 <<<'chmod 755 /root'
  as_number="setpriv --reuid 1000650000 --regid 0 --clear-groups env -u HOME"
  run --separate-stderr lead $as_number timeout 60 "$muster" run --via ssh --user root \
    --key "$ring" --pods 'train-[1-1].train' --slots 1 hostname
  [ "$status" = 0 ]
  [ "$output" = train-1 ]
  run lead $as_number timeout 60 "$muster" run --via ssh --key "$ring" \
    --pods 'train-[1-1].train' --slots 1 hostname
  [ "$status" = 125 ]
  [[ "$output" == *"user 1000650000"*"--user NAME"* ]]
}

@test "case ssh-17: launcher as root, the workers' sshd as mpiuser" {
  ssh_pods 2
  user_make train-1 2345 mpiuser
  sshd_start_as train-1 mpiuser 2345 2222
  run lead timeout 60 "$muster" run --via ssh:2222 --key "$ring" --pods 'train-[1-1].train' \
    --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"lets user root not in"*"only its own user in: give --user NAME"* ]]
  run --separate-stderr lead timeout 60 "$muster" run --via ssh:2222 --key "$ring" \
    --user mpiuser --pods 'train-[1-1].train' --slots 1 id -un
  [ "$status" = 0 ]
  [ "$output" = mpiuser ]
}

# With thousands of members at most 64 are dialed at once (DIALS_AT_ONCE in wire/branch.c).
@test "case ssh-06: logging in takes no process: none is left to the launcher" {
  ssh_pods 4
  "$podbox" volume put key "$BATS_TEST_TMPDIR/key" --mode 0644 >/dev/null
  for pod in train-1 train-2 train-3; do
    "$podbox" exec $pod install -m 0600 "$ring/id_rsa" /run/hostkey
    sshd_start $pod 22 /run/hostkey
  done
  in_pod train-0 <<<'chmod 755 /root'
  # 2: timeout and muster themselves.
  alone="setpriv --reuid 34567 --regid 34567 --clear-groups timeout 60 prlimit --nproc=2"
  run lead $alone sh -c 'true & wait; echo forked'
  [[ "$output" != *forked* ]]
  run --separate-stderr lead $alone "$muster" run --via ssh --user root --key "$ring" \
    --pods 'train-[1-3].train' --slots 1 hostname
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = $'train-1\ntrain-2\ntrain-3' ]
}

# None of ssh's settings is read: port and user are options and hostfile keys.
@test "case ssh-13: ssh's own settings do not count" {
  ssh_pods 1
  sshd_start train-0 2222
  in_pod train-0 <<<'printf "Host *\n Port 1\n User nobody\n ProxyCommand false\n" >/etc/ssh/ssh_config'
  run --separate-stderr lead env SSH_ARGS='-p 9' MPIEXEC_SSH_ARGS= timeout 60 "$muster" run \
    --via ssh:2222 --key "$ring" --pods 'train-[0-0].train' --slots 1 hostname
  [ "$status" = 0 ]
  [ "$output" = train-0 ]
}

# ---- options ------------------------------------------------------------------

@test "options of --via ssh without it, and a way that is none" {
  run lead true # no bed is needed
  run "$muster" run --push-agent --host a:1 true
  [ "$status" = 125 ]
  [[ "$output" == *"--push-agent"*"--via ssh"* ]]
  run "$muster" run --via telnet --host a:1 true
  [ "$status" = 125 ]
  [[ "$output" == *"--via telnet"*"ssh:PORT"* ]]
  run "$muster" run --via ssh true
  [ "$status" = 125 ]
  [[ "$output" == *"--via ssh needs members"* ]]
}

#!/usr/bin/env bats
# Stock ssh clients with the group's key run commands in pods that have only musterd.

setup() {
  load helper
  load muster
  bed_setup
  agents_up 2
  pod_ip=$("$podbox" ip train-1)
  ssh="ssh -i /etc/muster/ssh/ssh-privatekey -p 7822 -o StrictHostKeyChecking=no \
    -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o IdentitiesOnly=yes"
}

teardown() { bed_teardown; }

@test "exit status, signal, stdin, stdout and stderr pass through" {
  run --separate-stderr lead $ssh "$pod_ip" 'echo "$(hostname) $1"; echo err >&2; exit 7'
  [ "$status" = 7 ]
  [ "$output" = "train-1 " ]
  [ "$stderr" = err ]
  run lead $ssh "$pod_ip" 'kill -TERM $$'
  [ "$status" = 255 ] # what ssh makes of a signal
  run lead sh -c "printf 'a b\n' | $ssh $pod_ip cat"
  [ "$output" = "a b" ]
  run lead sh -c "echo 'echo from a script; exit 3' | $ssh -T $pod_ip"
  [ "$status" = 3 ]
  [ "$output" = "from a script" ]
}

@test "the container's environment; a variable of the client over it" {
  run lead env LC_MINE=over $ssh -o SendEnv=LC_MINE "$pod_ip" 'echo "$LC_MINE $PWD $0"'
  [ "$status" = 0 ]
  [ "$output" = "over /root sh" ]
}

@test "much data both ways, and a command that reads nothing" {
  run lead sh -c "head -c 30000000 /dev/zero | $ssh $pod_ip 'cat; echo end >&2' | wc -c"
  [ "$status" = 0 ]
  [ "${lines[0]}" = end ]
  [ "${lines[1]}" = 30000000 ]
  run lead sh -c "head -c 3000000 /dev/zero | $ssh $pod_ip 'exit 4'"
  [ "$status" = 4 ]
  # The agent did not keep what nobody read.
  lead sh -c "head -c 300000000 /dev/zero | $ssh $pod_ip 'sleep 1000'" &
  reader=$!
  wait_for 10 sleeps train-1
  sleep 1 # for the data to come
  rss=$(awk '/VmRSS/ { print $2 }' "/proc/$(pids_of train-1 'musterd$' | head -1)/status")
  [ "$rss" -lt 100000 ] # of 300,000 that could be sent
  kill "$reader"
  wait "$reader" || true
}

sleeps() { pids_of "$1" 'sleep 1000' | grep -q .; }
sleeps_not() { ! sleeps "$1"; }

@test "the command and its children are killed when the client goes" {
  lead $ssh "$pod_ip" 'setsid sleep 1000 & sleep 1000; true' &
  client=$!
  wait_for 10 sleeps train-1
  kill -KILL "$(pids_of train-0 '[0-9] ssh -i' | head -1)"
  wait_for 5 sleeps_not train-1
  wait "$client" || true
  lead $ssh "$pod_ip" true # the agent goes on
}

@test "several commands at once; one that asks for a terminal is refused" {
  run lead sh -c "for i in 1 2 3 4 5 6 7 8; do $ssh $pod_ip 'sleep 0.2; echo x' & done; wait"
  [ "$(grep -c x <<<"$output")" = 8 ]
  # No terminal is given: ssh says so and ends, it does not hang.
  run lead timeout 20 $ssh -tt "$pod_ip" true
  [ "$status" = 255 ]
  [[ "$output" == *"PTY allocation request failed"* ]]
}

@test "who has another key gets nothing" {
  lead ssh-keygen -q -t ed25519 -N '' -f /run/other
  run lead ssh -i /run/other -p 7822 -o StrictHostKeyChecking=no -o BatchMode=yes \
    -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes "$pod_ip" true
  [ "$status" = 255 ]
  [[ "$output" == *"Permission denied"* ]]
}

@test "sftp, and a muster run beside a command" {
  run lead $ssh -s "$pod_ip" sftp </dev/null
  [ "$status" = 0 ]
  lead sh -c "echo content >/run/file; scp -q -i /etc/muster/ssh/ssh-privatekey -P 7822 \
    -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
    /run/file $pod_ip:/run/file"
  [ "$("$podbox" exec train-1 cat /run/file)" = content ]
  lead $ssh "$pod_ip" 'sleep 1000' &
  wait_for 10 sleeps train-1
  lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 true
  sleeps train-1
}

@test "Open MPI's own mpirun starts its daemons through the agents" {
  run lead timeout 60 mpirun.openmpi --allow-run-as-root -np 4 --host "$("$podbox" ip train-0):2,$pod_ip:2" \
    --mca plm_rsh_agent "$(echo $ssh)" --mca orte_keep_fqdn_hostnames 1 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 4 on train-[01]' <<<"$output")" = 4 ]
}

# A rsh starter for programs that take one word: /run/rsh in the leader.
make_rsh() {
  "$podbox" exec train-0 sh -c "printf '#!/bin/sh\nexec %s \"\$@\"\n' '$(echo $ssh)' >/run/rsh; chmod 755 /run/rsh"
}

@test "Hydra starts its proxies through the agents" {
  make_rsh
  run lead timeout 60 mpiexec.hydra -bootstrap ssh -bootstrap-exec /run/rsh \
    -hosts "$("$podbox" ip train-0),$pod_ip" -ppn 2 -n 4 sh -c 'echo "$PMI_RANK $(hostname)"'
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = $'0 train-0\n1 train-0\n2 train-1\n3 train-1' ]
}

@test "pdsh" {
  run lead env PDSH_SSH_ARGS_APPEND="${ssh#ssh }" timeout 30 pdsh -R ssh -w "$pod_ip" hostname
  [ "$status" = 0 ]
  [[ "$output" == *": train-1" ]]
}

@test "--via ssh to an agent's own port: it serves that, too" {
  run --separate-stderr lead timeout 60 "$muster" run --via ssh:7822 \
    --pods 'train-[0-1].train' --slots 2 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 4 on train-[01], shared 2' <<<"$output")" = 4 ]
}

#!/usr/bin/env bats
# Names and addresses on emulated pods: the cases dns-* of tests/CASES.md.

setup() {
  load helper
  load muster
  load sshd
  load faultdns
  bed_setup
}

teardown() {
  faultdns_stop
  bed_teardown
}

# in_net POD CMD...: in the pod's network, with the tools and rights of this machine.
in_net() {
  local pid
  pid=$("$podbox" pid "$1")
  shift
  nsenter -t "$pid" -n "$@"
}

# asked_only PATTERN: no question but those that match.
asked_only() { [ -z "$(grep -vE -e "$1" "$faultdns_log")" ]; }

@test "case dns-01: NXDOMAIN for the first seconds is no verdict" {
  agents_up 2
  faultdns_start ttl=1 pods.train-1=
  run lead timeout 30 "$muster" run --wait 2 --pods 'train-[0-1].train' --slots 1 true
  [ "$status" = 125 ]
  [[ "$output" == *"train-1.train: NXDOMAIN"* ]]
  start=$(ms)
  (
    wait_for 30 grep -q 'waiting for.*train-1' "$BATS_TEST_TMPDIR/out"
    faultdns_set "pods.train-1=$(pb ip train-1)"
    ms >"$BATS_TEST_TMPDIR/there"
  ) 3>&- &
  lead timeout 60 "$muster" run --wait 60 --pods 'train-[0-1].train' --slots 1 true \
    >"$BATS_TEST_TMPDIR/out" 2>&1
  took=$(($(ms) - $(cat "$BATS_TEST_TMPDIR/there")))
  echo "# $took ms after its address was there" >&3
  [ "$took" -lt 10000 ] # 3 s, on a machine that is not busy
}

@test "case dns-04: an address that another job has now: the old job's stop does not reach it" {
  agents_up 3
  lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 \
    sh -c 'echo up; exec sleep 1009' >"$BATS_TEST_TMPDIR/a" 2>&1 3>&- &
  a=$!
  wait_for 30 eval '[ "$(grep -c up "$BATS_TEST_TMPDIR/a")" = 2 ]'
  # Its pod is another job's: the same name, the same address, the same key.
  ip=$(pb ip train-1)
  pb replace train-1 --same-address
  [ "$(pb ip train-1)" = "$ip" ]
  "$podbox" exec train-1 -d "$musterd"
  "$podbox" exec train-2 timeout 60 "$muster" run --pods 'train-[1-2].train' --slots 1 \
    sh -c 'echo up; while [ ! -e /tmp/end ]; do sleep 0.1; done' >"$BATS_TEST_TMPDIR/b" 2>&1 3>&- &
  b=$!
  wait_for 30 eval '[ "$(grep -c up "$BATS_TEST_TMPDIR/b")" = 2 ]'
  kill -TERM "$(pids_of train-0 'muster run' timeout)" 2>/dev/null || : # or it has ended by now
  ends_within 30 "$a"
  [ "$code" != 0 ]
  [ "$(pids_of train-1 'sh -c echo up' | wc -l)" = 1 ]
  for i in 1 2; do "$podbox" exec "train-$i" touch /tmp/end; done
  ends_within 30 "$b"
  [ "$code" = 0 ]
}

@test "case dns-05, case dns-06: absolute names only, no search, absent members once" {
  pods_up 3
  faultdns_start
  run lead timeout 30 "$muster" roll --pods 'train-[0-2].train,ghost-[0-99].train'
  [ "$status" = 1 ]
  [ "$(grep -c NXDOMAIN <<<"$output")" = 100 ]
  asked_only '^A (train|(train|ghost)-[0-9]+\.train)\.default\.svc\.cluster\.local$'
  [ "$(faultdns_asked)" = 104 ]
  # A name with fewer dots than ndots is right at once.
  : >"$faultdns_log"
  run lead timeout 30 "$muster" roll --host train-0.train.default.svc
  [ "$status" = 0 ]
  [ "$(cat "$faultdns_log")" = "A train-0.train.default.svc.cluster.local" ]
}

@test "case dns-07: the cluster's domain is that of resolv.conf" {
  agents_up 2 --domain kube.local
  for names in 'train-[0-1].train' 'train-[0-1].train.default.svc' \
    'train-[0-1].train.default.svc.kube.local'; do
    run lead timeout 60 "$muster" run --pods "$names" --slots 1 hostname
    [ "$status" = 0 ]
  done
}

@test "case dns-14, case dns-15: a launcher without a name: literals go to the pods, no names" {
  agents_up 3
  pb unready train-0
  pb dns stop
  members="$(pb ip train-1):1,$(pb ip train-2):1"
  # With fan-out 1 the second agent is dialled by the first one.
  run --separate-stderr lead timeout 60 "$muster" run --fanout 1 --host "$members" \
    sh -c 'echo "$MASTER_ADDR $(tr "\0" "\n" </proc/$PPID/environ | grep -c train-0)"'
  [ "$status" = 0 ]
  [ "$output" = "$(pb ip train-1) 0"$'\n'"$(pb ip train-1) 0" ]
}

@test "case dns-16: a node knows itself by its address, not by its name" {
  ssh_pods 1 # nothing listens: only who is itself can be reached
  [ "$(lead hostname)" = train-0 ]
  for name in train-0.train train-0 "$(pb ip train-0)"; do
    run --separate-stderr lead timeout 60 "$muster" run --via ssh --key "$ring" \
      --host "$name:1" hostname
    [ "$status" = 0 ]
    [ "$output" = train-0 ]
  done
}

@test "case dns-17: address literals are never turned into names" {
  agents_up 2
  faultdns_start
  ip=$(pb ip train-1)
  lead sh -c "echo '$ip fake-host' >>/etc/hosts"
  run lead timeout 60 "$muster" run --host "$ip:1" hostname
  [ "$status" = 0 ]
  [ "$output" = train-1 ]
  [ "$(faultdns_asked)" = 0 ]
}

# own_name POD: its hosts file says that its name is loopback, as a node's does.
own_name_is_loopback() {
  "$podbox" exec "$1" sh -c 'sed "/ train-[0-9]*$/d; /\ttrain-[0-9]*$/d" /etc/hosts >/tmp/h
    echo "127.0.0.1 $(hostname)" >>/tmp/h; cat /tmp/h >/etc/hosts'
}

@test "case dns-20, case dns-21: the own address is that of the route, not loopback or docker0" {
  agents_up 2
  for pod in train-0 train-1; do
    own_name_is_loopback $pod
    in_net $pod ip link add docker0 type bridge
    in_net $pod ip addr add 172.17.0.1/16 dev docker0
    in_net $pod ip link set docker0 up
    # The first address that a list of them has is no better.
    route=$(in_net $pod ip -4 route show default) own=$(in_net $pod ip -br -4 addr show eth0 | awk '{ print $3 }')
    in_net $pod ip addr add 172.18.0.1/16 dev eth0
    in_net $pod ip addr del "$own" dev eth0
    in_net $pod ip addr add "$own" dev eth0
    in_net $pod ip route replace $route
  done
  run --separate-stderr lead timeout 60 "$muster" run --host train-0:1,train-1.train:1 \
    sh -c 'echo "$RANK $MASTER_ADDR"; getent hosts train-0 | head -1 | cut -d" " -f1'
  [ "$status" = 0 ]
  [ "$(grep -c "^[01] $(pb ip train-0)$" <<<"$output")" = 2 ]
  grep -q '^127.0.0.1$' <<<"$output" # so it was asked for by this name
}

@test "case dns-22: the only interface has a virtual one's name" {
  agents_up 2
  for pod in train-0 train-1; do
    route=$(in_net $pod ip -4 route show default)
    in_net $pod ip link set eth0 down
    in_net $pod ip link set eth0 name virbr0
    in_net $pod ip link set virbr0 up
    in_net $pod ip route add ${route/eth0/virbr0}
  done
  run --separate-stderr lead timeout 60 "$muster" run --host train-0:1,train-1.train:1 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c ' of 2 on train-[01]' <<<"$output")" = 2 ]
}

@test "case dns-25: one family for all, or an error that names the members" {
  pods_up 1
  faultdns_start pods='{"a-0": ["fd00::10"], "a-1": ["10.1.0.1", "fd00::11"], "b-0": ["10.1.0.2"]}'
  for source in '--pods a-[0-1].train' '--host a-0.train,a-1.train'; do
    run --separate-stderr lead timeout 30 "$muster" roll --wait 10 $source
    [ "$status" = 0 ]
    [ "$(awk 'NR > 1 { print $3 }' <<<"$output")" = $'fd00::10\nfd00::11' ]
  done
  run lead timeout 30 "$muster" roll --pods 'a-[0-1].train,b-0.train'
  [ "$status" = 125 ]
  [[ "$output" == *"FAMILY_MISMATCH"*"IPv4 alone: b-0.train (10.1.0.2)"*"a-0.train (fd00::10)"* ]]
}

@test "case dns-26: IPv6 is switched off in the kernel" {
  pods_up 2
  for pod in train-0 train-1; do
    in_net $pod sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6'
  done
  start_agents 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 "$mpi/hello"
  [ "$status" = 0 ]
  [ -z "$stderr" ]
  run --separate-stderr lead timeout 60 "$muster" run --host localhost:2 "$mpi/hello"
  [ "$status" = 0 ]
}

@test "case dns-28: hostnames of 56, 57, 63 and 64 characters" {
  for n in 56 57 63 64; do
    name=$(printf 'h%.0s' $(seq "$n"))
    run --separate-stderr unshare -u sh -c \
      "echo $name >/proc/sys/kernel/hostname; exec timeout 60 '$muster' run -n 2 '$mpi/hello'"
    [ "$status" = 0 ]
    [ "$(grep -c " of 2 on $name, shared 2" <<<"$output")" = 2 ]
  done
}

@test "case dns-30: numbers are no addresses" {
  for word in 20260 010.1.2.3 10.1.2 0x0a.1.2.3; do
    run "$muster" roll --host "$word"
    [ "$status" = 125 ]
    [[ "$output" == *HF_BAD_NAME* ]]
    echo "$word slots=1" >"$BATS_TEST_TMPDIR/hostfile"
    run "$muster" roll --hostfile "$BATS_TEST_TMPDIR/hostfile"
    [ "$status" = 125 ]
    [[ "$output" == *"hostfile:1:1: HF_BAD_NAME"* ]]
  done
}

@test "case cfg-05: absent members and placeholders are in no hostfile" {
  pods_up 1
  faultdns_start pods.train-1=127.0.0.2 records='{"train.default.svc.cluster.local": ["127.0.0.3"]}'
  "$podbox" exec train-0 -d "$MUSTER_BUILDDIR/sidecar/muster-sidecar" --hosts \
    --write openmpi:/tmp/hostfile --interval 0.2 --dns train --slots 1
  wait_for 30 lead test -s /tmp/hostfile
  faultdns_mark
  wait_for 30 faultdns_heard 8
  [ "$(lead tail -n +2 /tmp/hostfile)" = "$(pb ip train-0) slots=1" ]
  ! lead grep -qE '127\.0\.0\.[23]' /etc/hosts
}

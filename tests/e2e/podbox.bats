#!/usr/bin/env bats
# podbox itself: what it emulates of kubelet, CoreDNS and the runtime, and that it leaves
# nothing behind. See tests/podbox/FIDELITY.md.

load helper

setup() {
    bed_setup
}

teardown() {
    bed_teardown
}

FQDN=train.default.svc.cluster.local

# ---- pods -------------------------------------------------------------------

@test "pods reach each other by address and by name" {
    pb up 2
    run -0 pb ip train-1
    address=$output
    pod_reaches train-0 "$address"
    pod_reaches train-0 "train-1.$FQDN"
    pod_reaches train-0 train-1.train
}

@test "a pod has its own host name, pids and loopback" {
    pb up 2
    run -0 pb exec train-1 hostname
    [ "$output" = train-1 ]
    run -0 pb exec train-1 cat /etc/hostname
    [ "$output" = train-1 ]
    run -0 pb exec train-1 cat /proc/1/comm
    [ "$output" = pause ]
    run -0 pb exec train-1 sh -c 'ls -d /proc/[0-9]* | wc -l'
    [ "$output" -le 4 ]
    run -0 pb pid train-1
    [ "$(cat "/proc/$output/comm")" = pause ]
    run -0 pb ps train-1
    [[ "$output" == *" pause" ]]
    [ "$(pb exec train-0 readlink /proc/self/ns/net)" != \
        "$(pb exec train-1 readlink /proc/self/ns/net)" ]
    [ "$(pb exec train-0 readlink /proc/self/ns/ipc)" != \
        "$(pb exec train-1 readlink /proc/self/ns/ipc)" ]
}

@test "files of a pod are its own, and the home is empty" {
    pb up 2
    pb exec train-0 sh -c 'echo mine > /etc/mine; echo mine > /tmp/mine'
    run ! pb exec train-1 test -e /etc/mine
    run ! pb exec train-1 test -e /tmp/mine
    [ ! -e /etc/mine ]
    # The home is empty, but for the way to a build tree that lies below it.
    local in_home=
    case $PODBOX_BIND in /root/*) in_home=$(cut -d/ -f3 <<<"$PODBOX_BIND") ;; esac
    [ "$(pb exec train-0 ls -A /root)" = "$in_home" ]
    run -0 pb exec train-0 sh -c 'df --output=size /dev/shm | tail -1'
    [ "$((output))" = 65536 ]
}

@test "root in a pod has a container's capabilities, not the machine's" {
    pb up 1
    run -0 pb exec train-0 sed -n 's/^CapEff:\t//p' /proc/self/status
    [ "$output" = 00000000a80425fb ]
    run ! pb exec train-0 mount -t tmpfs none /mnt
    run ! pb exec train-0 sh -c 'echo 1 > /proc/sys/vm/drop_caches'
}

@test "a pod can run as a user that is not root" {
    pb up 1 --user 12345:234
    run -0 pb exec train-0 sh -c 'id -u; id -g; echo $HOME; grep CapEff /proc/self/status'
    [ "$output" = $'12345\n234\n/\nCapEff:\t0000000000000000' ]
    run ! pb exec train-0 sh -c 'echo 10.1.2.3 added >> /etc/hosts'
    [[ "$output" == *"denied"* ]]
    [ "$(stat -c %u "/proc/$(pb pid train-0)")" = 12345 ]
}

@test "an MPI program starts in a pod" {
    [ -x "$MUSTER_BUILDDIR/tests/mpi/hello" ] || skip "no Open MPI when this was built"
    pb up 1
    run -0 pb exec train-0 "$MUSTER_BUILDDIR/tests/mpi/hello"
    [[ "$output" == *"rank 0 of 1 on train-0, shared 1"* ]]
}

@test "the command is pid 1, its output is the log" {
    pb up 2 --env 'SELF={name} {index} {ip}' -- sh -c 'echo out "$SELF"; echo err >&2; exec sleep 600'
    wait_for 5 grep -q err "/run/podbox/$PODBOX_BED/pods/train-1/log"
    run -0 pb logs train-1
    [ "${lines[0]}" = "out train-1 1 $(pb ip train-1)" ]
    [ "${lines[1]}" = err ]
    run -0 pb exec train-1 cat /proc/1/comm
    [ "$output" = sleep ]
}

@test "a command that ends leaves its status" {
    pb up 1 -- sh -c 'exit 5'
    ended() { pb list | grep -q 'ended: exit code 5'; }
    wait_for 5 ended
}

# ---- /etc -------------------------------------------------------------------

@test "hosts and resolv.conf are as kubelet and the runtime write them" {
    pb up 1 --namespace ml --domain k8s.test --service peers
    ip=$(pb ip train-0)
    want=$'# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n'"$ip"$'\ttrain-0.peers.ml.svc.k8s.test\ttrain-0'
    run -0 pb exec train-0 cat /etc/hosts
    [ "$output" = "$want" ]
    run -0 pb exec train-0 cat /etc/resolv.conf
    [ "${lines[0]}" = "search ml.svc.k8s.test svc.k8s.test k8s.test" ]
    [ "${lines[2]}" = "options ndots:5" ]
}

@test "the hosts file is a mount: writable in place, never replaced" {
    pb up 1
    pb exec train-0 sh -c 'echo 10.1.2.3 added >> /etc/hosts'
    run -0 pb exec train-0 getent hosts added
    pb exec train-0 touch /etc/other
    run -1 pb exec train-0 mv /etc/other /etc/hosts
    [[ "$output" == *"busy"* ]]
    run -1 pb exec train-0 rm /etc/hosts
}

@test "a restart is a new container in the same pod, with a new hosts file" {
    pb up 1
    ip=$(pb ip train-0)
    pb exec train-0 sh -c 'echo 10.1.2.3 added >> /etc/hosts; touch /dev/shm/stays /tmp/goes'
    inode=$(pb exec train-0 stat -c %i /etc/hosts)
    pb restart train-0
    [ "$(pb ip train-0)" = "$ip" ]
    run ! pb exec train-0 grep added /etc/hosts
    [ "$(pb exec train-0 stat -c %i /etc/hosts)" = "$inode" ]
    run -0 pb exec train-0 test -e /dev/shm/stays
    run ! pb exec train-0 test -e /tmp/goes
}

# ---- volumes ----------------------------------------------------------------

@test "a ConfigMap volume is swapped as a whole, and seen inside" {
    mkdir "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    echo one | tee "$BATS_TEST_TMPDIR/a/hostfile" "$BATS_TEST_TMPDIR/a/gone" >/dev/null
    echo two >"$BATS_TEST_TMPDIR/b/hostfile"
    pb volume put config "$BATS_TEST_TMPDIR/a"
    pb up 1 --volume config:/etc/mpi
    run -0 pb exec train-0 cat /etc/mpi/hostfile
    [ "$output" = one ]
    run -0 pb exec train-0 readlink /etc/mpi/hostfile
    [ "$output" = ..data/hostfile ]
    first=$(pb exec train-0 readlink /etc/mpi/..data)
    pb volume put config "$BATS_TEST_TMPDIR/a"
    [ "$(pb exec train-0 readlink /etc/mpi/..data)" = "$first" ]
    pb volume put config "$BATS_TEST_TMPDIR/b"
    run -0 pb exec train-0 cat /etc/mpi/hostfile
    [ "$output" = two ]
    run ! pb exec train-0 test -e /etc/mpi/gone
    run ! pb exec train-0 test -e "/etc/mpi/$first"
    run -1 pb exec train-0 touch /etc/mpi/mine
    [[ "$output" == *"Read-only"* ]]
    run -0 pb volume show config
    [ "$output" = $'==> hostfile <==\ntwo' ]
}

@test "files of a Secret have its mode, before and after a change" {
    mkdir "$BATS_TEST_TMPDIR/key"
    echo key >"$BATS_TEST_TMPDIR/key/id"
    pb volume put group "$BATS_TEST_TMPDIR/key"
    pb up 1 --secret group:/etc/key --secret open:/etc/open:0440
    run -0 pb exec train-0 stat -Lc '%a %u' /etc/key/id
    [ "$output" = "400 0" ]
    echo new >"$BATS_TEST_TMPDIR/key/id"
    pb volume put group "$BATS_TEST_TMPDIR/key"
    pb volume put open "$BATS_TEST_TMPDIR/key"
    run -0 pb exec train-0 stat -Lc %a /etc/key/id /etc/open/id
    [ "$output" = $'400\n440' ]
}

# ---- DNS --------------------------------------------------------------------

dns() {
    pb exec train-0 kdig +noall +header +answer "$@" | sed -n 's/.*status: \([A-Z]*\);.*/\1/p; /[[:space:]]IN[[:space:]]/p'
}

@test "DNS knows the pods that are ready, and no others" {
    pb up 2 --not-ready
    run -0 dns "$FQDN" A
    [ "$output" = NXDOMAIN ]
    run -0 dns "train-1.$FQDN" A
    [ "$output" = NXDOMAIN ]
    pb ready train-1
    ip=$(pb ip train-1)
    run -0 pod_lookup train-0 train
    [ "$output" = "$ip" ]
    run -0 pb exec train-0 kdig +short -x "$ip"
    [ "$output" = "train-1.$FQDN." ]
    run -0 dns "train-1.$FQDN" A
    [[ "${lines[0]}" == NOERROR ]]
    [[ "${lines[1]}" =~ [[:space:]]5[[:space:]]+IN[[:space:]]+A ]]
    pb ready all
    [ "$(pod_lookup train-0 train | wc -l)" = 2 ]
    pb unready all
    run -0 dns "$FQDN" A
    [ "$output" = NXDOMAIN ]
    run -0 dns -x "$ip"
    [ "$output" = NXDOMAIN ]
}

@test "publishing pods that are not ready shows them all" {
    pb up 2 --not-ready --publish-not-ready
    [ "$(pod_lookup train-0 train | wc -l)" = 2 ]
    pb unready train-1
    [ "$(pod_lookup train-0 train | wc -l)" = 2 ]
}

@test "names that nobody has are NXDOMAIN in and outside of the cluster's domain" {
    pb up 1
    run -0 dns nosuch.cluster.local
    [ "$output" = NXDOMAIN ]
    run -0 dns nosuch.example.com
    [ "$output" = NXDOMAIN ]
    run -2 pb exec train-0 getent hosts nosuch
}

@test "IPv6 addresses are in DNS and reachable" {
    pb up 2 --ipv6
    run -0 pb exec train-0 getent ahostsv6 train-1.train
    address=$(awk '{print $1; exit}' <<<"$output")
    [[ "$address" == fd77:* ]]
    pod_reaches train-0 "$address"
    run -0 pb exec train-0 kdig +short -x "$address"
    [ "$output" = "train-1.$FQDN." ]
}

@test "single names can be set and removed" {
    pb up 2
    pb dns set "train-1.$FQDN" A 10.9.9.9
    run -0 pod_lookup train-0 train-1.train
    [ "$output" = 10.9.9.9 ]
    pb dns del "train-1.$FQDN"
    run -0 dns "train-1.$FQDN"
    [ "$output" = NXDOMAIN ]
}

@test "the DNS server can refuse or hang, and catches up" {
    pb up 2
    ip=$(pb ip train-1)
    ask() { pb exec train-0 kdig +timeout=1 +retry="${1:-0}" +short "train-1.$FQDN"; }
    pb dns stop
    run ! ask
    pb unready train-1
    pb dns start
    run -0 ask 9
    [ -z "$output" ]
    pb dns silence
    run ! ask
    pb ready train-1
    pb dns start
    run -0 ask 9
    [ "$output" = "$ip" ]
}

# ---- faults -----------------------------------------------------------------

@test "a replaced pod has the old name and a new address" {
    pb up 2
    old=$(pb ip train-1)
    pid=$(pb pid train-1)
    pb exec train-1 touch /tmp/old /dev/shm/old
    pb replace train-1
    new=$(pb ip train-1)
    [ "$new" != "$old" ]
    [ ! -e "/proc/$pid/ns" ] || [ "$(pb pid train-1)" != "$pid" ]
    run -0 pod_lookup train-0 train-1.train
    [ "$output" = "$new" ]
    pod_lookup train-0 train | grep -qx "$new"
    run ! grep -qx "$old" <(pod_lookup train-0 train)
    run -0 dns -x "$old"
    [ "$output" = NXDOMAIN ]
    pod_reaches train-0 "$new"
    run ! pod_reaches train-0 "$old"
    run ! pb exec train-1 test -e /tmp/old
    run ! pb exec train-1 test -e /dev/shm/old
    run -0 pb exec train-1 grep -c "$new" /etc/hosts
}

@test "a pod can come back with the address of the old one" {
    pb up 2
    old=$(pb ip train-1)
    pb replace train-1 --same-address
    [ "$(pb ip train-1)" = "$old" ]
    pod_reaches train-0 "$old"
}

@test "a killed container takes all its processes along, the pod's network stays" {
    pb up 2
    ip=$(pb ip train-1)
    pb exec train-1 -d sleep 600
    pid=$(pb ps train-1 | awk '/sleep 600/ {print $1}')
    [ -n "$pid" ]
    pb kill train-1
    run ! grep -q sleep "/proc/$pid/cmdline"
    run -125 pb exec train-1 true
    [[ "$output" == *"no container runs in pod train-1"* ]]
    run -0 pb list
    [[ "${lines[1]}" == *"ended: signal 9 (SIGKILL)" ]]
    pod_reaches train-0 "$ip"
    pb restart train-1
    pb exec train-1 true
}

@test "a cut pod is lost silently, and healed" {
    pb up 2
    ip=$(pb ip train-1)
    pb cut train-1
    run ! pod_reaches train-0 "$ip"
    run ! pod_reaches train-1 "$(pb ip train-0)"
    run -0 pb exec train-1 cat /sys/class/net/eth0/carrier
    [ "$output" = 1 ]
    run -0 pb list
    [[ "${lines[1]}" == *"ready,cut running" ]]
    pb heal train-1
    pod_reaches train-0 "$ip"
}

@test "a frozen pod does nothing until it is thawed" {
    pb up 1
    run -0 pb freeze train-0
    [[ "$output" == "frozen by "* ]]
    [[ "$output" != *SIGSTOP* ]] || skip "no cgroup freezer here"
    run -137 timeout -s KILL 1 "$PODBOX" exec train-0 true
    pb thaw train-0
    pb exec train-0 true
}

# ---- exec -------------------------------------------------------------------

@test "exec passes on arguments, input, environment and exit codes" {
    pb up 1 --env 'A=up' --env 'B=up'
    run -0 pb exec train-0 --env B=exec printf '%s|' 'a b' '' '$x' -- -d
    [ "$output" = 'a b||$x|--|-d|' ]
    run -0 pb exec train-0 --env B=exec sh -c 'echo $A $B $HOSTNAME $HOME $MUSTER_SRCDIR'
    [ "$output" = "up exec train-0 /root" ]
    run -0 pb exec train-0 cat <<<"hello"
    [ "$output" = hello ]
    run -3 pb exec train-0 sh -c 'exit 3'
    run -137 pb exec train-0 sh -c 'kill -9 $$'
    run -134 pb exec train-0 sh -c 'kill -ABRT $$'
    run -127 pb exec train-0 nosuch
    [[ "$output" == *"nosuch: not found in PATH"* ]]
    run -126 pb exec train-0 /etc
    run -2 pb exec nosuch true
    [[ "$output" == *"has no pod 'nosuch'; it has train-0"* ]]
}

in_pod() { # is a process with these words in the pod?
    pb ps train-0 | grep -qF -e "$1"
}

not_in_pod() {
    ! in_pod "$1"
}

@test "exec passes signals on, and its program dies with it" {
    pb up 1
    "$PODBOX" exec train-0 bash -c 'trap "exit 9" TERM; echo ready; while :; do read -rt 1 <> <(:) || :; done' \
        >"$BATS_TEST_TMPDIR/out" 3>&- &
    pid=$!
    wait_for 5 grep -q ready "$BATS_TEST_TMPDIR/out"
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = 9 ]
    "$PODBOX" exec train-0 sleep 601 3>&- &
    pid=$!
    wait_for 5 in_pod "sleep 601"
    kill -KILL "$pid"
    wait_for 5 not_in_pod "sleep 601"
}

@test "a detached program stays, and writes to the pod's log" {
    pb up 1
    pb exec -d train-0 sh -c 'echo detached; exec sleep 602'
    wait_for 5 in_pod "sleep 602"
    run -0 pb logs train-0
    [ "$output" = detached ]
    run -127 pb exec train-0 -d nosuch
}

# ---- nothing is left --------------------------------------------------------

@test "down leaves nothing behind" {
    before=$(bed_traces)
    pb volume put config "$BATS_TEST_DIRNAME"
    pb up 3 --volume config:/etc/mpi --ipv6
    pb exec -d train-0 sleep 603
    pb freeze train-1
    pb cut train-2
    pb dns silence
    [ "$(bed_traces)" != "$before" ]
    pb down
    [ "$(bed_traces)" = "$before" ]
    pb down
}

@test "down leaves nothing behind when parts were killed" {
    before=$(bed_traces)
    pb up 3
    pb exec -d train-1 sleep 604
    for role in fabric-of "sandbox-of train-0" "shim-of train-1"; do
        pid=$(ps -eo pid=,args= | awk -v want="podbox --bed $PODBOX_BED $role" \
            '{p = $1; sub(/^ *[0-9]+ /, "")} $0 == want {print p}')
        kill -KILL "$pid"
    done
    rm "/run/podbox/$PODBOX_BED/bed.json"
    pb down
    [ "$(bed_traces)" = "$before" ]
}

@test "up that fails or is interrupted leaves nothing behind" {
    before=$(bed_traces)
    run -127 pb up 2 -- nosuch
    [[ "$output" == *"container of pod train-0: program nosuch: not found"* ]]
    [ "$(bed_traces)" = "$before" ]
    "$PODBOX" up 200 3>&- &
    pid=$!
    wait_for 20 test -e "/run/podbox/$PODBOX_BED/pods/train-0/hosts"
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = 143 ]
    [ "$(bed_traces)" = "$before" ]
}

@test "up refuses a bed that is up, and does not touch it" {
    pb up 1
    pid=$(pb pid train-0)
    run -125 pb up 2
    [[ "$output" == *"is up already"* ]]
    [ "$(pb pid train-0)" = "$pid" ]
}

@test "two beds know nothing of each other" {
    pb up 1
    pb --bed "$PODBOX_BED-b" up 1 || { pb --bed "$PODBOX_BED-b" down; false; }
    a=$(pb ip train-0)
    b=$(pb --bed "$PODBOX_BED-b" ip train-0)
    run ! pod_reaches train-0 "$b"
    pb --bed "$PODBOX_BED-b" down
    [ "$a" != "$b" ]
    pb exec train-0 true
}

@test "without root podbox says so and exits with 77" {
    command -v setpriv >/dev/null || skip "setpriv (util-linux) is missing"
    cp "$PODBOX" "$BATS_TEST_TMPDIR/podbox"
    chmod 755 "$BATS_TEST_TMPDIR/podbox" "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    run -77 setpriv --reuid 65534 --clear-groups "$BATS_TEST_TMPDIR/podbox" up 1
    [[ "$output" == "podbox: podbox needs root"* ]]
}

@test "up --root: another image for one pod; what is no image or no pod is refused" {
    local image=$BATS_TEST_TMPDIR/image
    mkdir -p "$image/bin" "$image/etc"
    cp /bin/cat "$image/bin/"
    ldd /bin/cat | grep -o '/[^ ]*' | xargs -I{} cp -L --parents {} "$image/"
    echo other >"$image/etc/image"
    pb up 2 --root "train-1=$image"
    run -0 pb exec train-1 cat /etc/image
    [ "$output" = other ]
    run -1 pb exec train-0 cat /etc/image
    pb down
    run -2 pb up 2 --root "$BATS_TEST_TMPDIR/missing"
    [[ "$output" == *"--root wants [POD=]DIR"* ]]
    run -2 pb up 2 --root "train-7=$image"
    [[ "$output" == *"no pod 'train-7'"* ]]
}

@test "run: a further container has the pod's network and hosts file, and files and a user of its own" {
  pb up 1 --name train
  local dir=$BATS_TEST_TMPDIR/shared
  mkdir -m 777 "$dir"
  run -3 pb run train-0 --user 1234:1234 --read-only --no-new-privs --mount "share:$dir:/data" \
    --env A=b sh -c 'touch /data/seen; touch /x /tmp/x /run/x && exit 9; grep -q "train-0$" /etc/hosts || exit 8
      grep -q "^NoNewPrivs:.1" /proc/self/status || exit 7; echo "$(id -u) $A $$ $(hostname -i)"; exit 3'
  echo "$output"
  [ "$(tail -1 <<<"$output")" = "1234 b 1 $(pb ip train-0)" ]
  [ "$(grep -c 'Read-only file system' <<<"$output")" = 3 ]
  [ -e "$dir/seen" ]
  run -127 pb run train-0 /no/such
  [[ "$output" == *"container of pod train-0: "*/no/such* ]]
}

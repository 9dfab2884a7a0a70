# Shared by all end-to-end tests: a bed of emulated pods for each test, and bounded waits.
#
#   setup() { bed_setup; }          skips, aloud, where no bed can be made
#   teardown() { bed_teardown; }
#
# A test makes its pods with `pb up ...`. MUSTER_BUILDDIR names the build (default: build/
# in the source tree); it is visible at the same path in every pod. Logs of a failed test
# are printed by bed_teardown.

bats_require_minimum_version 1.5.0

MUSTER_SRCDIR=${MUSTER_SRCDIR:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
MUSTER_BUILDDIR=${MUSTER_BUILDDIR:-$MUSTER_SRCDIR/build}
export MUSTER_SRCDIR MUSTER_BUILDDIR
export PODBOX=$MUSTER_BUILDDIR/tests/podbox/podbox
export PODBOX_BIND=$MUSTER_BUILDDIR

# Where the tests themselves run in a pod, nothing of that pod counts (muster-sources(7)).
unset KUBERNETES_SERVICE_HOST JOB_COMPLETION_INDEX K_MPI_JOB_ROLE I_MPI_HYDRA_HOST_FILE \
    HYDRA_HOST_FILE OMPI_MCA_orte_default_hostfile "${!LWS_@}" "${!PET_@}" "${!VC_@}" "${!VK_@}"

# podbox, never longer than PB_LIMIT seconds (30). `timeout --foreground` passes signals on.
pb() {
    timeout --foreground -k 5 "${PB_LIMIT:-30}" "$PODBOX" "$@"
}

# wait_for SECONDS CMD...: until the command succeeds; fails when the time is over. Without bats' trap before
# each simple command of CMD (set -T), which takes a millisecond: here, and in other helpers that loop.
wait_for() {
    local - end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    set +T
    shift
    until "$@" >/dev/null 2>&1; do
        if ((${EPOCHREALTIME/[.,]/} > end)); then
            echo "not within the time limit: $*" >&2
            return 1
        fi
        sleep 0.03
    done
}

# pipe_is_full FIFO, which somebody holds open. Asked, not tried: a byte that does fit may come amid a
# line of the writer's.
pipe_is_full() {
    timeout 5 python3 -c 'import os, select, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
sys.exit(len(select.select([], [fd], [], 0)[1]))' "$1"
}

# Why no bed can be made here; empty: it can.
bed_missing() {
    [ -x "$PODBOX" ] || { echo "no $PODBOX: run make first"; return; }
    [ "$(id -u)" = 0 ] || { echo "podbox needs root"; return; }
    local tool
    for tool in ip:iproute2 nft:nftables knotd:knot knsupdate:knot-dnsutils; do
        PATH=$PATH:/usr/sbin:/sbin command -v "${tool%%:*}" >/dev/null ||
            { echo "${tool%%:*} is missing: install ${tool#*:}"; return; }
    done
}

# A bed name of this test's own; nothing is made yet.
bed_setup() {
    local why
    why=$(bed_missing)
    [ -z "$why" ] || skip "$why"
    export PODBOX_BED="t$$-${BATS_TEST_NUMBER}"
}

bed_teardown() {
    [ -n "${PODBOX_BED:-}" ] || return 0
    if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -d "/run/podbox/$PODBOX_BED" ]; then
        "$PODBOX" list || :
        tail -n 40 "/run/podbox/$PODBOX_BED"/helpers.log \
            "/run/podbox/$PODBOX_BED"/pods/*/log 2>/dev/null || :
    fi
    pb down
}

# What of this bed is left on the machine, and what the host has of its own: links,
# mounts, named network namespaces. Compare before and after.
bed_traces() {
    ls -d "/run/podbox/$PODBOX_BED" 2>/dev/null
    find /sys/fs/cgroup -type d -path "*podbox/$PODBOX_BED*" 2>/dev/null
    grep -l "podbox/$PODBOX_BED/" /proc/[0-9]*/mountinfo 2>/dev/null
    ps -eo stat=,args= | grep -F -e "--bed $PODBOX_BED " -e "podbox/$PODBOX_BED/" |
        grep -v -e grep -e '^Z'
    ip -br link | awk '{print $1}'
    ip netns list
    grep -v -e "podbox/t" -e "/bats-run-" /proc/self/mounts # of others' tests
}

# Does the pod reach an address? A closed port answers at once, a lost packet never.
pod_reaches() {
    local rc=0
    pb exec "$1" timeout 1 bash -c "exec 3<>/dev/tcp/$2/9" 2>/dev/null || rc=$?
    [ "$rc" = 1 ]
}

# The addresses of a name as the pod's resolver sees them, one a line, sorted.
pod_lookup() {
    pb exec "$1" getent ahostsv4 "$2" | awk '$2 == "STREAM" {print $1}' | sort
}

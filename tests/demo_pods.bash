# What the demos of the reference ranks share: emulated pods, which end with the script. Sourced with the
# demo's name in `demo`.
# shellcheck disable=SC2034  # for who sources this

build=${MUSTER_BUILDDIR:?run this through ./dev demo $demo}
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
muster=$build/launcher/muster
musterd=$build/agent/musterd
podbox=$build/tests/podbox/podbox
out=$build/demo-$demo
work=$(mktemp -d)
export PODBOX_BED=demo-$demo-$$

finish() {
  "$podbox" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }
die() { printf 'demo %s: %s\n' "$demo" "$*" >&2; exit 1; }

# wait_for SECONDS CMD...: until it succeeds.
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < until)) || die "not within the time: $*"
    sleep 0.05
  done
}

[ "$(id -u)" = 0 ] || die "emulated pods need root"

# A DNS server with faults in place of the bed's own: tests/dns/faultdns.py. Load after
# helper.bash; call faultdns_stop in teardown, before bed_teardown.

faultdns=$MUSTER_SRCDIR/tests/dns/faultdns.py

# faultdns_start KEY=VALUE...: on the bed's DNS address, with the pods that are there.
faultdns_start() {
  local pod pods=()
  faultdns_state=$BATS_TEST_TMPDIR/dns.json
  faultdns_log=$BATS_TEST_TMPDIR/dns.log
  : >"$faultdns_log"
  while read -r pod; do pods+=("pods.$pod=$(pb ip "$pod")"); done < <(pb list | cut -d' ' -f1)
  faultdns_set "${pods[@]}" "$@"
  pb dns stop
  faultdns_run
}

faultdns_run() {
  local at fabric
  fabric=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["fabric"][0])' \
    <"/run/podbox/$PODBOX_BED/bed.json")
  at=$(pb exec train-0 awk '$1 == "nameserver" { print $2; exit }' /etc/resolv.conf)
  : >"$BATS_TEST_TMPDIR/dns.port"
  nsenter -t "$fabric" -n python3 "$faultdns" serve "$at:53" "$faultdns_state" \
    "$faultdns_log" >"$BATS_TEST_TMPDIR/dns.port" 2>"$BATS_TEST_TMPDIR/dns.err" 3>&- &
  faultdns_pid=$!
  wait_for 20 test -s "$BATS_TEST_TMPDIR/dns.port"
}

faultdns_stop() {
  [ -n "${faultdns_pid:-}" ] || return 0
  kill "$faultdns_pid" 2>/dev/null || :
  wait "$faultdns_pid" 2>/dev/null || :
  faultdns_pid=
}

faultdns_set() { python3 "$faultdns" set "$faultdns_state" "$@"; }

# Questions so far; with a pattern those that match.
# shellcheck disable=SC2120
faultdns_asked() { grep -cE -e "${1:-}" "$faultdns_log" || :; }

# faultdns_heard N: N further questions since faultdns_mark.
faultdns_mark() { faultdns_from=$(faultdns_asked); }
faultdns_heard() { [ $(($(faultdns_asked) - faultdns_from)) -ge "$1" ]; }

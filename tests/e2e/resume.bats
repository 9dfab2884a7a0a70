#!/usr/bin/env bats
# Links whose connection is reset, or lost for a while, in the middle of a run: the run goes on
# in silence, with every line and every fence once; what does not come back is a loss.

setup() {
  load helper
  load muster
  bed_setup
  out=$BATS_TEST_TMPDIR/out
  err=$BATS_TEST_TMPDIR/err
  probe=$MUSTER_BUILDDIR/tests/unit/pmix_probe
}

teardown() { bed_teardown; }

# in_net POD CMD...: in the pod's network namespace, with this machine's privileges.
in_net() {
  local pid
  pid=$("$podbox" pid "$1")
  shift
  timeout 10 nsenter -n -t "$pid" "$@"
}

# Resets all connections to the pod's agent, as a firewall that forgets them does; fails when
# there is none.
reset_links() { [ -n "$(in_net "$1" ss -KHtn 'sport = :7822' 2>/dev/null)" ]; }

# Answers every packet to the pod's agent with a reset, until let_in: only the dialler hears
# of it.
keep_out() {
  in_net "$1" nft -f - <<<'table inet out {
    chain in { type filter hook input priority 0; tcp dport 7822 reject with tcp reset; }; }'
}
let_in() { in_net "$1" nft delete table inet out; }

# start_run RUN-ARGS...: in the background. Its lines go to $out, all else to $err; the events
# are in the pod.
start_run() {
  lead rm -f /tmp/events
  lead timeout 120 "$muster" run --events /tmp/events --grace 1 "$@" >"$out" 2>"$err" 3>&- &
  job=$!
}

# said N: so many lines are there. moves_on: a hundred more than now.
said() { [ "$(wc -l <"$out")" -ge "$1" ]; }
moves_on() { wait_for 30 said $(($(wc -l <"$out") + 100)); }

events_of() { lead grep -c "\"$1\"" /tmp/events || true; }
happened() { [ "$(events_of "$1")" -ge "$2" ]; }

# until_one_more EVENT CMD...: does it, and waits until there is one more such event than before.
until_one_more() {
  local n
  n=$(events_of "$1")
  "${@:2}"
  wait_for 60 happened "$1" $((n + 1))
}

# whole RANKS PODS: told to stop, the run ends well and silently; every line is there once, in
# order, and no rank had less to say than it says itself.
whole() {
  local i
  for ((i = 0; i < $2; i++)); do "$podbox" exec "train-$i" touch /tmp/stop; done
  ends_within 60 "$job"
  cat "$err"
  [ "$code" = 0 ]
  [ ! -s "$err" ]
  for ((i = 0; i < $2; i++)); do "$podbox" exec "train-$i" rm /tmp/stop; done
  awk -v ranks="$1" '
    $3 == "round" && $4 != ++n[$2] { print "rank", $2, "said", $4, "for", n[$2]; bad = 1 }
    $3 == "ended" { if ($4 != n[$2]) { print "rank", $2, "ended at", n[$2]; bad = 1 } ended++ }
    END { if (ended != ranks) print ended, "ranks ended"; exit bad || ended != ranks }' "$out"
}

# lost MEMBER TEXT: the run ended with the loss of this member, for this reason.
lost() {
  ends_within 90 "$job"
  cat "$err"
  [ "$code" = 125 ]
  [ "$(grep -c '^muster: member' "$err")" = 1 ]
  grep -q "^muster: member $1.* was lost: .*$2" "$err"
}

@test "ranks print over resets, refusals, silence and a frozen pod, each within the grace" {
  agents_up 2
  start_run --quiet --pods 'train-[0-1].train' --slots 2 --pmi none --link-grace 30 \
    --orphan-grace 40 bash -c 'i=0; until [ -e /tmp/stop ]; do
      echo "rank $RANK round $((++i))"; sleep 0.01; done; echo "rank $RANK ended $i"'
  for round in 1 2 3; do
    moves_on
    until_one_more link-resumed reset_links train-1
  done
  moves_on
  until_one_more link-broken keep_out train-1 # a reset that only the dialler sees
  until_one_more link-resumed let_in train-1
  moves_on
  until_one_more link-broken "$podbox" cut train-1
  until_one_more link-resumed "$podbox" heal train-1
  moves_on
  until_one_more link-broken "$podbox" freeze train-1
  until_one_more link-resumed "$podbox" thaw train-1
  moves_on
  whole 4 2
}

@test "bursts of output over resets" {
  agents_up 2
  start_run --quiet --pods 'train-[0-1].train' --slots 2 --pmi none --output /tmp/o \
    bash -c 'n=0; until [ -e /tmp/stop ]; do seq -f %0100.0f 5000; ((++n)); sleep 0.02; done; echo end $n'
  wait_for 20 happened started 1
  for round in 1 2 3; do
    until_one_more link-resumed reset_links train-1
  done
  whole 0 2
  for rank in 0 1 2 3; do
    lead awk '$1 == "end" { good = $2 * 5000 == n; next }
      $1 != n++ % 5000 + 1 { bad = 1; exit } END { exit bad || !good }' "/tmp/o/rank.$rank.out"
  done
}

@test "resets while ranks meet in fences, and in MPI's barriers" {
  agents_up 4
  start_run --quiet --pods 'train-[0-3].train' --slots 2 --pmi pmix "$probe" rounds
  for round in 1 2 3; do
    moves_on
    until_one_more link-resumed reset_links "train-$round"
  done
  moves_on
  whole 8 4
  start_run --quiet --pods 'train-[0-3].train' --slots 2 "$mpi/barriers" /tmp/stop
  for round in 1 2; do
    moves_on
    until_one_more link-resumed reset_links "train-$round"
  done
  moves_on
  whole 8 4
}

@test "resets between agents, in a tree of fan-out 2" {
  agents_up 6
  # The heartbeats are far apart, so that no silence of a busy machine breaks a link.
  start_run --quiet --pods 'train-[0-5].train' --slots 1 --fanout 2 --pmi pmix --heartbeat 5 "$probe" rounds
  # train-0 has train-2 and train-3 below it, train-1 the others.
  for pod in train-2 train-5 train-0; do
    moves_on
    reset_links $pod
    wait_for 60 came_back $pod
  done
  moves_on
  whole 6 6
  [ "$(events_of link-resumed)" = 1 ] # of the launcher's own links
}

came_back() { "$podbox" logs "$1" | grep -q 'came back'; }

@test "what does not come back within the grace is a loss, and what comes back as another is" {
  local one grace
  agents_up 2
  one=(--quiet --pods 'train-[0-1].train' --slots 1 --pmi none)
  start_run "${one[@]}" --heartbeat 5 --link-grace 0 --orphan-grace 1 sleep 100
  wait_for 20 happened started 1
  reset_links train-1
  lost train-1 'Connection reset by peer'
  [ "$(events_of link-broken)" = 0 ]

  measure_launch --pods 'train-[0-1].train' --slots 1 --pmi none
  grace=$((launch_ms * 5 / 1000 + 1)) # in which the launcher dials at least once
  start_run "${one[@]}" --link-grace $grace --orphan-grace $grace sleep 100
  wait_for 20 happened started 1
  until_one_more link-broken keep_out train-1
  lost train-1 "not back within $grace s (connection refused"
  let_in train-1

  start_run "${one[@]}" --link-grace 80 --orphan-grace 90 sleep 100
  wait_for 20 happened started 1
  until_one_more link-broken "$podbox" cut train-1 # so that the launcher hears no end of stream
  kill -KILL "$(pids_of train-1 'musterd$' | head -1)"
  wait_for 10 eval '[ -z "$(pids_of train-1 musterd)" ]'
  "$podbox" exec train-1 -d "$musterd"
  "$podbox" heal train-1
  lost train-1 'another agent has taken its place'
}

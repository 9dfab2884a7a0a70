#!/usr/bin/env bats
# DNS that fails, lies and is slow: what is known never shrinks, no wrong address is
# written, and few questions are asked.

setup() {
  load helper
  load muster
  load faultdns
  bed_setup
  sidecar=$MUSTER_BUILDDIR/sidecar/muster-sidecar
}

teardown() {
  faultdns_stop
  bed_teardown
}

# two_sidecars: one follows the Service, in train-0, one the pods' names, in train-1.
two_sidecars() {
  "$podbox" exec train-0 -d "$sidecar" --hosts --write openmpi:/tmp/hostfile --interval 0.2 \
    --dns train --members 3 --slots 1 --listen 9400
  "$podbox" exec train-1 -d "$sidecar" --hosts --write openmpi:/tmp/hostfile --interval 0.2 \
    --pods 'train-[0-2].train' --slots 1 --listen 9400
}

# files_have ADDRESS...: the two pods' hostfiles, in order, and these in their /etc/hosts.
files_have() {
  local pod want
  want=$(printf '%s slots=1\n' "$@")
  for pod in train-0 train-1; do
    [ "$("$podbox" exec "$pod" tail -n +2 /tmp/hostfile)" = "$want" ] || return 1
    [ "$("$podbox" exec "$pod" awk '/ train-[0-2]\.train / { print $1 }' /etc/hosts |
      sort -u)" = "$(printf '%s\n' "$@" | sort)" ] || return 1
  done
}

# answers POD STATUS: how often, as its sidecar's metrics have it.
answers() {
  # shellcheck disable=SC2016  # expanded inside
  "$podbox" exec "$1" timeout 10 bash -c 'exec 3<>/dev/tcp/127.0.0.1/9400 &&
    printf "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" >&3 && cat <&3' |
    awk -v s="status=\"$2\"" '/^muster_sidecar_dns_answers_total/ && index($1, s) { print $2 + 0 }'
}

writes() { "$podbox" logs "$1" | grep -c '/tmp/hostfile: 3 members' || :; }
logged() { "$podbox" logs "$1" | grep -qF -e "$2"; }

# nothing_written: since writes_then, and the files are as they were.
expect_nothing_written() {
  files_have "${addresses[@]}"
  [ "$(writes train-0) $(writes train-1)" = "$writes_then" ]
}

@test "a bad server, in every way: nothing shrinks, nothing is written, and it is told" {
  pods_up 3
  faultdns_start ttl=1
  two_sidecars
  addresses=("$(pb ip train-0)" "$(pb ip train-1)" "$(pb ip train-2)")
  wait_for 30 files_have "${addresses[@]}"
  writes_then="$(writes train-0) $(writes train-1)"
  for mode in servfail refuse garbage notcp; do
    faultdns_set mode="$mode"
    faultdns_mark
    wait_for 30 faultdns_heard 10
    expect_nothing_written
    run lead timeout 30 "$muster" roll --pods 'train-[0-2].train'
    [ "$status" = 1 ]
    [ "$(grep -c '^train-[0-2]\.train ' <<<"$output")" = 3 ]
  done
  for pod in train-0 train-1; do
    for word in SERVFAIL refused 'malformed answer'; do logged $pod "$word"; done
    logged $pod "what is known stays"
    for status in ok servfail refused malformed; do [ "$(answers $pod $status)" -ge 1 ]; done
  done
  # Every third question for the Service, every second one for a pod is denied; order changes.
  faultdns_set mode=good nxdomain.train.default.svc.cluster.local=3 \
    nxdomain.train-1.train.default.svc.cluster.local=2
  faultdns_mark
  wait_for 30 faultdns_heard 24
  expect_nothing_written
}

@test "a server that is dead and comes back: a pod that was replaced meanwhile is found" {
  pods_up 3
  faultdns_start ttl=1
  two_sidecars
  addresses=("$(pb ip train-0)" "$(pb ip train-1)" "$(pb ip train-2)")
  wait_for 30 files_have "${addresses[@]}"
  writes_then="$(writes train-0) $(writes train-1)"
  # Silent, then gone: port unreachable.
  faultdns_set mode=silent
  wait_for 30 logged train-0 timeout
  wait_for 30 logged train-1 timeout
  faultdns_stop
  wait_for 30 logged train-0 "nothing answers"
  wait_for 30 logged train-1 "nothing answers"
  [ -z "${MUSTER_LONG:-}" ] || sleep 30 # as long as issue and operators know it
  expect_nothing_written
  old=$(pb ip train-2)
  pb replace train-2
  faultdns_set mode=good "pods.train-2=$(pb ip train-2)"
  faultdns_run
  addresses[2]=$(pb ip train-2)
  wait_for 30 files_have "${addresses[@]}"
  # Every second answer is an old one: nothing goes back.
  writes_then="$(writes train-0) $(writes train-1)"
  faultdns_set "old.train-0=${addresses[0]}" "old.train-1=${addresses[1]}" "old.train-2=$old" stale=2
  faultdns_mark
  wait_for 30 faultdns_heard 24
  expect_nothing_written
}

# thousand: 1,000 pods that are nowhere, as a state.
thousand() {
  python3 -c 'import json
print(json.dumps({f"big-{i}": f"10.200.{i // 250}.{i % 250 + 1}" for i in range(1000)}))'
}

@test "1,000 members: cut answers are asked over TCP, and never used without it" {
  pods_up 1
  faultdns_start service=big.default.svc.cluster.local pods="$(thousand)"
  for source in "--dns big" "--pods big-[0-999].big"; do
    : >"$faultdns_log"
    run --separate-stderr lead timeout 60 "$muster" roll $source
    [ "$status" = 0 ]
    [ "$(grep -c '^big-' <<<"$output")" = 1000 ]
    grep -q "^big-999.big  *-  10.200.3.250" <<<"$output"
    [ "$(faultdns_asked '^A(/tcp)? big\.')" = 2 ]
  done
  faultdns_set mode=notcp
  run lead timeout 30 "$muster" roll --dns big
  [ "$status" = 1 ]
  [ "$(grep -c '^big-' <<<"$output")" = 0 ]
}

# count_questions N: until there are N sets all, those that came, and took, in ms.
count_questions() {
  local begun
  faultdns_mark
  begun=$(ms)
  wait_for 30 faultdns_heard "$1"
  all=$(($(faultdns_asked) - faultdns_from))
  took=$(($(ms) - begun))
}

# expect_one_a_poll INTERVAL [ASKERS]: which has jitter down to three quarters of it.
expect_one_a_poll() { [ "$all" -le $((${2:-1} * (took * 4 / 3 / $1 + 1))) ]; }

@test "questions: one a poll for a whole job, one a pod and interval where each asks for itself" {
  agents_up 4
  faultdns_start ttl=1
  "$podbox" exec train-0 timeout 60 "$muster" run --pods 'train-[0-3].train' --slots 1 \
    sh -c 'echo up; exec sleep 1009' >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
  job=$!
  wait_for 30 eval '[ "$(grep -c up "$BATS_TEST_TMPDIR/out")" = 4 ]'
  count_questions 5 # TTL: 1 s
  expect_one_a_poll 1000
  echo "# a job on 4 pods: $all questions in $took ms, TTL 1000 ms" >&3
  kill "$(pids_of train-0 'muster run' timeout)"
  ends_within 20 "$job"
  # 64 names, as one program follows them, and what a loop over them costs.
  fake=()
  for i in $(seq 4 63); do fake+=("pods.train-$i=10.200.0.$i"); done
  faultdns_set "${fake[@]}"
  "$podbox" exec train-0 -d "$sidecar" --write openmpi:/tmp/hostfile --interval 0.2 \
    --pods 'train-[0-63].train' --slots 1
  wait_for 30 lead test -s /tmp/hostfile
  count_questions 1 # the end of the first round
  count_questions 10
  expect_one_a_poll 200
  "$podbox" kill train-0
  faultdns_mark
  "$podbox" exec train-1 sh -c 'for i in $(seq 0 63); do getent ahostsv4 train-$i.train; done' >/dev/null
  naive=$(($(faultdns_asked) - faultdns_from))
  [ "$naive" -ge 64 ]
  echo "# 64 pods: $all questions in $took ms, interval 200 ms; a naive loop: $naive in one" >&3
  # A sidecar in each pod, none of them has a launcher.
  for i in 1 2 3; do
    "$podbox" exec train-$i -d "$sidecar" --write openmpi:/tmp/hostfile --interval 1 \
      --pods 'train-[0-63].train' --slots 1
  done
  for i in 1 2 3; do wait_for 30 "$podbox" exec train-$i test -s /tmp/hostfile; done
  count_questions 3
  count_questions 9
  echo "# 3 sidecars alone: $all questions in $took ms, interval 1000 ms" >&3
  expect_one_a_poll 1000 3
}

# files_list POD ADDRESS...: the hostfile of the run directory, in order, and /etc/hosts.
files_list() {
  local pod=$1
  shift
  [ "$("$podbox" exec "$pod" tail -n +2 /run/muster/hostfile)" = "$(printf '%s slots=1\n' "$@")" ] &&
    hosts_list "$pod" "$@"
}

# hosts_list POD ADDRESS...: the members' addresses in /etc/hosts, in any order.
hosts_list() {
  [ "$("$podbox" exec "$1" awk '/ train-[0-2]\.train / { print $1 }' /etc/hosts | sort -u)" = \
    "$(printf '%s\n' "${@:2}" | sort)" ]
}

# job_says EXPRESSION: it holds for the status `s`, as a pod is told it.
job_says() {
  "$podbox" exec train-1 timeout 20 "$muster" status --json |
    python3 -c "import json, sys; s = json.load(sys.stdin); sys.exit(not ($1))"
}

ups() { [ "$(grep -cx up "$BATS_TEST_TMPDIR/out")" = "$1" ]; }

# A Deployment's pods: Kubernetes makes a name of each one's address, and the next pod has another one.
nameless() { sed 's/\(.*\)/pods.\1=\1/; :a; s/^\([^=]*\)\./\1-/; t a; s/^pods-/pods./' <<<"$1"; }

@test "pods that have no names of their own: one that was about to go is not waited for, one is replaced" {
  agents_up 3
  faultdns_start ttl=1
  local i old pods=(pods.train-{0,1,2}=)
  for i in 0 1 2; do pods+=("$(nameless "$(pb ip "train-$i")")"); done
  faultdns_set "${pods[@]}" pods.0-ghost=10.77.255.254
  out=$BATS_TEST_TMPDIR/out
  # shellcheck disable=SC2016  # the ranks' shell expands it
  lead timeout 90 "$muster" run --on-failure restart --healthy 0 --grace 1 --orphan-grace 1 --link-grace 1 --dns train \
    --members 3 --slots 1 --pmi none --events /tmp/events bash -c 'echo "attempt $MUSTER_ATTEMPT on $(hostname)"
      [ "$MUSTER_ATTEMPT" = 2 ] || exec sleep 1000' >"$out" 2>&1 3>&- &
  job=$!
  wait_for 20 eval '[ "$(lead grep -c "\"attached\"" /tmp/events)" = 2 ]'
  faultdns_set pods.0-ghost=
  wait_for 30 eval '[ "$(grep -c "attempt 1 on" "$out")" = 3 ]'
  old=$(nameless "$(pb ip train-1)")
  "$podbox" replace train-1
  "$podbox" exec train-1 -d "$musterd"
  faultdns_set "${old%=*}=" "$(nameless "$(pb ip train-1)")"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c 'attempt 2 on train-[012]$' "$out")" = 3 ]
}

@test "a Service hides a pod that is not ready: while its agent answers it stays, also over a restart" {
  pods_up 3
  addresses=("$(pb ip train-0)" "$(pb ip train-1)" "$(pb ip train-2)")
  for i in 0 1 2; do "$podbox" exec train-$i mkdir -p /run/muster; done
  start_agents 3
  for i in 0 1 2; do
    "$podbox" exec train-$i -d "$sidecar" --hosts --write openmpi:/run/muster/hostfile \
      --interval 0.2 --dns train --members 3 --slots 1
  done
  lead timeout 100 "$muster" run --on-failure restart --pods 'train-[0-2].train' --slots 1 --pmi none \
    --grace 1 sh -c 'echo up; until [ -e /tmp/stop ]; do sleep 0.1; done' >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
  job=$!
  wait_for 30 ups 3
  pb unready train-2
  wait_for 60 job_says '"train-2" in (s["source"]["last_error"] or "")'
  job_says '[m["state"] for m in s["members"]] == ["attached"] * 3'
  for i in 0 1 2; do files_list train-$i "${addresses[@]}"; done
  kill -KILL "$(pids_of train-1 'until ..-e /tmp/stop')"
  wait_for 30 ups 6
  job_says 's["attempt"] == 2 and s["members"][2]["address"] == "'"${addresses[2]}"'"'
  for i in 0 1 2; do
    files_list train-$i "${addresses[@]}"
    "$podbox" exec train-$i touch /tmp/stop
  done
  ends_within 20 "$job"
  [ "$code" = 0 ]
  # Without a launcher DNS has the word; a hostfile of --members 3 is never shorter.
  wait_for 30 hosts_list train-0 "${addresses[@]:0:2}"
  [ "$("$podbox" exec train-0 tail -n +2 /run/muster/hostfile | wc -l)" = 3 ]
  pb ready train-2
  wait_for 30 files_list train-0 "${addresses[@]}"
}

@test "a Service that publishes pods that are not ready shows them from the start" {
  agents_up 3 --not-ready --publish-not-ready
  run lead timeout 60 "$muster" run --dns train --members 3 --slots 1 --pmi none hostname
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = $'train-0\ntrain-1\ntrain-2' ]
  run lead timeout 30 "$sidecar" --once --write plain:/tmp/hostfile --dns train --members 3
  [ "$status" = 0 ]
  [ "$(lead tail -n +2 /tmp/hostfile)" = "$(for i in 0 1 2; do pb ip train-$i; done)" ]
}

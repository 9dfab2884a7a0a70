#!/usr/bin/env bats
# The launcher's roll in the pods' hosts and hostfiles: pushed down the tree, handed over by
# the agents, applied by the sidecars before any rank starts, and let go with its lease.

setup() {
  load helper
  load muster
  bed_setup
  sidecar=$MUSTER_BUILDDIR/sidecar/muster-sidecar
}

teardown() { bed_teardown; }

in_pod() { "$podbox" exec "$@"; }

# pods_with_agents N [UP-OPTION...]: and the directory that agent and sidecar share.
pods_with_agents() {
  local i
  pods_up "$@"
  for ((i = 0; i < $1; i++)); do in_pod "train-$i" mkdir -p /run/muster; done
  start_agents "$1"
}

# start_sidecar POD ARGS...: its own source is an old list.
start_sidecar() {
  local pod=$1
  shift
  in_pod "$pod" -d "$sidecar" --log json --hosts --write openmpi:/run/muster/hostfile \
    --hostfile /etc/muster/group/hostfile "$@"
}

# bed N [UP-OPTION...]: N pods, each with agent and sidecar, whose ConfigMap is old.
bed() {
  local i
  mkdir -p "$BATS_TEST_TMPDIR/cm"
  echo "10.9.9.9 slots=1" >"$BATS_TEST_TMPDIR/cm/hostfile"
  pods_with_agents "$@"
  for ((i = 0; i < $1; i++)); do start_sidecar "train-$i"; done
  for ((i = 0; i < $1; i++)); do wait_for 20 hostfile_is "train-$i" "10.9.9.9 slots=1"; done
}

hostfile_is() { # POD TEXT, without the mark
  [ "$(in_pod "$1" tail -n +2 /run/muster/hostfile)" = "$2" ]
}

# has_address POD NAME ADDRESS: what the pod's /etc/hosts says.
has_address() {
  in_pod "$1" grep -qE "^$3 +([^ #]+ )*$2( |\$)" /etc/hosts
}

# addresses N [SLOTS]: the pods' addresses as a hostfile.
addresses() {
  local i
  for ((i = 0; i < $1; i++)); do echo "$(pb ip "train-$i")${2:+ slots=$2}"; done
}

# What a rank sees of its pod's files.
# shellcheck disable=SC2016  # expanded by the rank
look='echo "hostfile $(tail -n +2 /run/muster/hostfile | tr "\n" ,)"
      echo "hosts $(grep -E "^[0-9].*train-" /etc/hosts | grep -v "$(hostname)\$" | awk "{print \$1}" | sort -u | tr "\n" ,)"'

@test "hosts and hostfiles are right in every pod before a rank starts: star and tree" {
  bed 4
  want=$(addresses 4 2 | tr '\n' ,)
  for fanout in 64 2; do
    run --separate-stderr -0 lead timeout 60 "$muster" run --fanout $fanout --pods 'train-[0-3].train' \
      --slots 2 --pmi none sh -c "$look"
    [ "$(grep -cFx "hostfile $want" <<<"$output")" = 8 ]
    # When the job has ended the own source counts again.
    for i in 0 1 2 3; do wait_for 20 hostfile_is "train-$i" "10.9.9.9 slots=1"; done
  done
}

# start_job RUN-OPTIONS...: ranks that wait for the file /tmp/stop of their pod; from train-0.
# Its stderr goes to $err, its events to /tmp/events there.
start_job() {
  err=$BATS_TEST_TMPDIR/err
  lead rm -f /tmp/events
  lead timeout 100 "$muster" run --events /tmp/events --pmi none "$@" \
    sh -c 'until [ -e /tmp/stop ]; do sleep 0.1; done' >"$err" 2>&1 3>&- &
  job=$!
}

happened() { lead grep -q "\"event\":\"$1\"" /tmp/events; }

pid_of() { "$podbox" ps "$1" | awk -v p="$2" '$2 ~ p { print $1; exit }'; }
agent_pid() { "$podbox" ps "$1" | awk '$2 ~ /\/musterd$/ { print $1; exit }'; }
logged() { "$podbox" logs "$1" | grep -qF -e "$2"; }

# replaced_silently POD: nothing tells the launcher but silence.
replaced_silently() {
  pb cut "$1"
  pb replace "$1"
}

@test "a replaced pod's address is pushed down the tree; a sidecar that restarts keeps it" {
  bed 4
  # train-2 and train-3 are below train-0; train-3 has no position.
  start_job --link-grace 90 --orphan-grace 90 --fanout 2 --pods 'train-[0-3].train' -n 3 --ppn 1
  wait_for 30 happened started
  replaced_silently train-1
  ip=$(pb ip train-1)
  wait_for 30 happened roll
  for i in 0 2 3; do wait_for 10 has_address "train-$i" train-1.train "$ip"; done
  grep -q "member train-1.train has moved from .* to $ip" "$err"
  want=$(addresses 3 1)
  for i in 0 2 3; do wait_for 10 hostfile_is "train-$i" "$want"; done
  kill -KILL "$(pid_of train-2 muster-sidecar)"
  start_sidecar train-2
  wait_for 20 sh -c "[ \"\$('$podbox' logs train-2 | grep -c 'is applied')\" -ge 3 ]"
  hostfile_is train-2 "$want"
  [ "$("$podbox" logs train-2 | grep -c 'follows hostfile')" = 1 ]
}

@test "a list of addresses: a new one takes the place of the pod that is gone" {
  bed 3
  list() { addresses 3 1 | lead sh -c 'cat >/tmp/list.new && mv /tmp/list.new /tmp/list'; }
  list
  start_job --link-grace 90 --orphan-grace 90 --hostfile /tmp/list
  wait_for 30 happened started
  old=$(pb ip train-1)
  replaced_silently train-1
  list # known before the loss is
  wait_for 30 happened roll
  lead grep -q "\"cause\":\"filled\",\"was\":\"$old\",\"old\":\"$old\",\"new\":\"$(pb ip train-1)\"" /tmp/events
  for i in 0 2; do wait_for 10 hostfile_is "train-$i" "$(addresses 3 1)"; done
}

@test "leases run out: launcher killed, agent killed, agent frozen; a new job takes over" {
  bed 3
  want=$(addresses 3 1)
  start_job --pods 'train-[0-2].train' --ppn 1
  wait_for 30 happened started
  kill -STOP "$(agent_pid train-2)"
  kill -KILL "$(agent_pid train-1)" "$(pid_of train-0 /launcher/muster)"
  for i in 0 1 2; do hostfile_is "train-$i" "$want"; done
  for i in 0 1 2; do wait_for 30 hostfile_is "train-$i" "10.9.9.9 slots=1"; done
  kill -KILL "$(agent_pid train-2)"
  in_pod train-1 test -e /run/muster/roll.json # left by whom it was killed
  for i in 1 2; do in_pod "train-$i" -d "$musterd"; done
  run --separate-stderr -0 lead timeout 60 "$muster" run --pods 'train-[0-2].train' --ppn 1 \
    --pmi none sh -c "$look"
  [ "$(grep -cFx "hostfile $(tr '\n' , <<<"$want")" <<<"$output")" = 3 ]
}

@test "the files are the first job's; the second one is told, and gets them after it" {
  bed 2
  start_job --pods 'train-[0-1].train' --ppn 1
  first=$job
  wait_for 30 happened started
  run -0 lead timeout 60 "$muster" run --pods 'train-[0-1].train' --ppn 2 --pmi none true
  [[ "$output" == *"hosts and hostfiles of this pod follow another job"* ]]
  hostfile_is train-1 "$(addresses 2 1)"
  lead timeout 100 "$muster" run --pods 'train-[0-1].train' --ppn 2 --pmi none \
    sh -c 'echo up; exec sleep 100' >"$BATS_TEST_TMPDIR/second" 2>&1 3>&- &
  second=$!
  wait_for 30 sh -c "[ \"\$(grep -cx up '$BATS_TEST_TMPDIR/second')\" = 4 ]"
  for i in 0 1; do in_pod "train-$i" touch /tmp/stop; done
  ends_within 20 "$first"
  [ "$code" = 0 ]
  for i in 0 1; do wait_for 20 hostfile_is "train-$i" "$(addresses 2 2)"; done
  lead pkill -INT -x muster
  ends_within 20 "$second"
}

@test "files that cannot be written, or are not within 10 s, are the reason why nothing starts" {
  bed 2
  in_pod train-1 mkdir /tmp/gone
  in_pod train-0 mkdir /tmp/gone
  kill -KILL "$(pid_of train-1 muster-sidecar)"
  start_sidecar train-1 --write openmpi:/tmp/gone/hostfile
  wait_for 20 in_pod train-1 test -e /tmp/gone/hostfile
  in_pod train-1 rm -r /tmp/gone
  run -125 lead timeout 60 "$muster" run --pods 'train-[0-1].train' --ppn 1 --pmi none true
  [[ "$output" == *"member train-1.train"*"the pod's sidecar: /tmp/gone/hostfile: OUT_NO_DIRECTORY"* ]]
  in_pod train-1 mkdir /tmp/gone
  lead timeout 60 "$muster" run --pods 'train-[0-1].train' --ppn 1 --pmi none true
  kill -STOP "$(pid_of train-1 muster-sidecar)"
  run -125 lead timeout 60 "$muster" run --pods 'train-[0-1].train' --ppn 1 --pmi none true
  [[ "$output" == *"member train-1.train"*"(muster-sidecar) did not write hosts and hostfiles within 10 s"* ]]
  kill -KILL "$(pid_of train-1 muster-sidecar)"
  lead timeout 60 "$muster" run --pods 'train-[0-1].train' --ppn 1 --pmi none true
}

@test "musterd keeps the files itself in pods without a sidecar, and refuses to be the second" {
  pods_up 2
  for i in 0 1; do in_pod "train-$i" -d "$musterd" --hosts --write deepspeed:/run/muster.hosts; done
  run --separate-stderr -0 lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 3 --pmi none \
    sh -c 'tail -n +2 /run/muster.hosts; grep -c "train-[01].train" /etc/hosts'
  [ "$(grep -c "^$(pb ip train-1) slots=3$" <<<"$output")" = 6 ]
  has_address train-0 train-1.train.default.svc.cluster.local "$(pb ip train-1)"
  run -125 in_pod train-0 "$sidecar" --once --hosts --pods 'train-[0-1].train'
  [[ "$output" == *HOSTS_BUSY* ]]
  run -125 in_pod train-0 "$musterd" --listen 127.0.0.1:7999 --write openmpi:/run/muster.hosts
  [[ "$output" == *OUT_BUSY* ]]
}

in_net() { # POD CMD...: with the host's programs
  local pid
  pid=$("$podbox" pid "$1")
  shift
  nsenter -t "$pid" -n "$@"
}

count_queries_of() {
  in_net "$1" nft -f - <<<'table inet asked { chain out { type filter hook output priority 0;
    udp dport 53 counter; tcp dport 53 tcp flags & (syn | ack) == syn counter; }; }'
}

queries_of() { # POD: since it is counted
  in_net "$1" nft list table inet asked | awk '{ for (i = 1; i < NF; i++) if ($i == "packets") n += $(i + 1) } END { print n + 0 }'
}

# milliseconds_of TIME: 2026-01-02T03:04:05.678Z
milliseconds_of() { date -u -d "$1" +%s%3N; }

# Sixty-four pods with MUSTER_LONG=1.
@test "many pods: a new address is everywhere within a second, and only the launcher asks DNS" {
  n=16
  [ -z "${MUSTER_LONG:-}" ] || n=64
  mkdir -p "$BATS_TEST_TMPDIR/cm"
  echo "10.9.9.9 slots=1" >"$BATS_TEST_TMPDIR/cm/hostfile"
  PB_LIMIT=120 pods_with_agents $n --ttl 1
  for ((i = 0; i < n; i++)); do
    # A ConfigMap that is old, or DNS.
    if ((i % 2)); then
      in_pod "train-$i" -d "$sidecar" --log json --hosts --write openmpi:/run/muster/hostfile \
        --dns train --members $n
    else start_sidecar "train-$i"; fi
  done
  start_job --link-grace 90 --orphan-grace 90 --dns train --members $n --slots 1
  wait_for 60 happened started
  for ((i = 0; i < n; i++)); do count_queries_of "train-$i"; done
  begun=$(ms)
  last=train-1
  old=$(pb ip $last)
  replaced_silently $last
  ip=$(pb ip $last)
  wait_for 60 happened roll
  event=$(lead grep -m1 '"event":"roll"' /tmp/events)
  [[ "$event" == *"\"old\":\"$old\",\"new\":\"$ip\""* ]]
  generation=$(sed 's/.*"generation":\([0-9]*\).*/\1/' <<<"$event")
  told=$(milliseconds_of "$(sed 's/.*"time":"\([^"]*\)".*/\1/' <<<"$event")")
  wait_for 20 logged train-0 "roll $generation of job"
  want=$(lead tail -n +2 /run/muster/hostfile)
  slowest=0 reached=0
  for ((i = 0; i < n; i++)); do
    [ "train-$i" != $last ] || continue
    wait_for 20 logged "train-$i" "roll $generation of job"
    applied=$(pb logs "train-$i" | grep -m1 -F "roll $generation of job" | sed 's/.*"time":"\([^"]*\)".*/\1/')
    took=$(($(milliseconds_of "$applied") - told))
    ((took <= slowest)) || slowest=$took
    has_address "train-$i" train-1.train "$ip"
    hostfile_is "train-$i" "$want"
    if has_address "train-$i" train-1.train "$old"; then false; fi
    reached=$((reached + 1))
  done
  grep -qx "$ip slots=1" <<<"$want"
  asked=$(queries_of train-0) others=0
  for ((i = 1; i < n; i++)); do
    [ "train-$i" = $last ] || others=$((others + $(queries_of "train-$i")))
  done
  seconds=$((($(ms) - begun) / 1000))
  echo "# $reached of $n pods: the last one had it $slowest ms after the launcher knew;" \
    "DNS queries in $seconds s: launcher's pod $asked, all others $others" \
    "(each pod asking for each name every 5 s: $((n * n * (seconds / 5 + 1))))" >&3
  [ "$slowest" -lt 5000 ] # 1 s where nothing else runs
  [ "$others" = 0 ]
  [ "$asked" -le $((20 + seconds * 4)) ]
}

# Sixty-four pods with MUSTER_LONG=1.
@test "a pod is replaced, the job restarts: files are right on all pods, the new one too" {
  n=4
  [ -z "${MUSTER_LONG:-}" ] || n=64
  bed $n
  # shellcheck disable=SC2016  # expanded by the rank
  lead timeout 100 "$muster" run --events /tmp/events --on-failure restart --fanout $((n > 8 ? 8 : 2)) --pmi none \
    --pods "train-[0-$((n - 1))].train" --slots 1 \
    sh -c '[ "$MUSTER_ATTEMPT" = 2 ] || { echo up; sleep 100; }; '"$look" \
    >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  job=$!
  wait_for 30 sh -c "[ \"\$(grep -cx up '$BATS_TEST_TMPDIR/out')\" = $n ]"
  pb replace train-1
  in_pod train-1 mkdir -p /run/muster
  start_sidecar train-1
  in_pod train-1 -d "$musterd"
  ends_within 60 "$job"
  cat "$BATS_TEST_TMPDIR/err"
  [ "$code" = 0 ]
  [ "$(grep -cFx "hostfile $(addresses $n 1 | tr '\n' ,)" "$BATS_TEST_TMPDIR/out")" = "$n" ]
}

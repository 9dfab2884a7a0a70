#!/usr/bin/env bats
# Bad input gets one clear error, and nothing is started.

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR"
  export MUSTER_KEY_DIR=$BATS_TEST_TMPDIR/key
}

teardown() { bed_teardown; }

# In pods the build tree is read-only; there the program leaves its trace in /tmp.
nothing_started() {
  local i
  for ((i = 0; i < $1; i++)); do
    "$podbox" exec "train-$i" test ! -e /tmp/started
  done
}

# refused WORD...: the last run ended with 125, one error line, and each WORD in it.
refused() {
  local word
  [ "$status" = 125 ]
  [ "$(grep -c '^muster' <<<"$output")" = 1 ]
  for word in "$@"; do [[ "$output" == *"$word"* ]]; done
  [ ! -e started ]
}

job() { run timeout 60 "$muster" run "$@" touch started; }

@test "hostfile: missing, a directory, empty, malformed" {
  "$muster" keygen key >/dev/null
  job --hostfile no/such/file
  refused no/such/file "No such file"
  mkdir dir
  job --hostfile dir
  refused dir directory
  : >empty
  job --hostfile empty
  refused empty
  printf '10.44.0.10 slots=8\n10.44.0.11 lots=8\n' >typo
  job --hostfile typo
  refused typo:2:12 lots
  printf 'ash slots=99999999999\n' >overflow
  job --hostfile overflow
  refused overflow:1
}

@test "a missing key ring hides nothing else that is wrong" {
  job --hostfile no/such/file
  refused no/such/file "No such file"
  echo ash >group
  job --hostfile group
  refused "$MUSTER_KEY_DIR"
}

@test "seconds have fractions wherever an option takes them" {
  printf 'ash.invalid\n' >group
  run timeout 60 "$muster" roll --hostfile group --wait 0.5 --dns-server 127.0.0.1:9
  [ "$status" = 1 ]
  [[ "$output" == *ash.invalid* ]]
  run timeout 60 "$muster" roll --hostfile group --wait 0,5
  refused "--wait 0,5: give seconds, 0 to 1000000"
}

@test "two sources at once" {
  job --hostfile x --dns train
  [ "$status" = 125 ]
  [[ "$output" == *hostfile*dns* ]] || [[ "$output" == *dns*hostfile* ]]
}

@test "a Service without a number of members" {
  job --dns train -n 8
  refused --members
}

@test "key: missing, unreadable by mode, not a key" {
  job --host 127.0.0.1:1
  refused "$MUSTER_KEY_DIR"
  "$muster" keygen key >/dev/null
  chmod 644 key/ssh-privatekey
  job --host 127.0.0.1:1
  refused key/ssh-privatekey 644 "chmod 600"
  chmod 600 key/ssh-privatekey
  echo nonsense >key/ssh-privatekey
  job --host 127.0.0.1:1
  refused key/ssh-privatekey
}

@test "too few slots: both numbers are named, nobody is dialed" {
  "$muster" keygen key >/dev/null
  job --host 127.0.0.1:2,127.0.0.2:2 -n 5
  refused 5 4
}

@test "more members wanted than the source names: refused at once" {
  "$muster" keygen key >/dev/null
  job --wait 50 --host 127.0.0.1:2,127.0.0.2:2 --members 7
  refused "--members 7" "2 in"
  [[ "$output" != *"--wait"* ]]
}

@test "a port where nobody listens is waited for, bounded, and named" {
  "$muster" keygen key >/dev/null
  job --wait 1 --host 127.0.0.7:2
  refused 127.0.0.7 refused "--wait"
}

@test "a wrong key is refused at once, on both sides" {
  "$muster" keygen key >/dev/null
  "$muster" keygen other >/dev/null
  "$musterd" --listen 127.0.0.8:17822 --key other 2>agent.log &
  agent=$!
  wait_for 10 grep -q 'listens on' agent.log
  printf '127.0.0.8 slots=1 port=17822\n' >hosts
  job --hostfile hosts
  kill "$agent"
  refused 127.0.0.8 key
}

@test "an unknown host is named with its reason" {
  bed_setup
  agents_up 1
  run lead timeout 60 "$muster" run --wait 1 --pods 'train-[0-1].train' --slots 1 \
    touch /tmp/started
  refused train-1.train NXDOMAIN
  nothing_started 1
}

@test "a program missing on one pod only: nothing runs anywhere" {
  bed_setup
  agents_up 3
  lead cp /bin/touch /usr/local/bin/only-here
  "$podbox" exec train-1 cp /bin/touch /usr/local/bin/only-here
  run -127 lead timeout 60 "$muster" run --pods 'train-[0-2].train' --slots 1 only-here \
    /tmp/started
  [[ "$output" == *"train-2"*"only-here"*"not found"* ]]
  nothing_started 3
}

@test "options of mpirun that have no use here are refused with what to do instead" {
  run timeout 20 "$muster" run --mca btl tcp true
  refused OMPI_MCA_NAME
  run timeout 20 "$muster" run --bind-to core true
  refused 'not bound'
}

@test "--members without a source is refused, not waited for" {
  run timeout 20 "$muster" run --members 2 true
  refused --members --hostfile
}

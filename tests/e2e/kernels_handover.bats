#!/usr/bin/env bats
# muster-infer with prefill and decode apart: keys and values are pulled, tokens stay the same.

setup() {
  load helper
  load muster
  infer=$MUSTER_BUILDDIR/kernels/infer/muster-infer
  cd "$BATS_TEST_TMPDIR"
  "$infer" --make-random layers=3,length=64 --seed 7 model
  "$infer" model --prompt 'In the beginning' --prompt 'a longer prompt, in several pieces' --json --max-tokens 20 |
    tokens_of >want
}

teardown() {
  local pid
  for pid in ${prefill:-} ${decode:-} ${slow:-} ${stream:-}; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
  [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 30 ./*.log || true
  bed_teardown
}

tokens_of() { grep -o '"token_ids":\[[0-9,]*\]'; }

# where LOG WHAT: the address that WHAT ("http", "prefill") listens at.
where() {
  wait_for 60 grep -q "$2: listens at" "$1"
  sed -n "s/.*$2: listens at //p" "$1"
}

# ask [CMD...]: both prompts at once; prints their tokens. CMD runs curl (podbox exec ...).
ask() {
  "$@" curl -sS -m 60 "http://$at/v1/completions" -d '{"prompt": ["In the beginning",
    "a longer prompt, in several pieces"], "max_tokens": 20, "temperature": 0, "return_token_ids": true}' | tokens_of
}

start_prefill() {
  "$muster" run --grid "$1" "$infer" "${2:-model}" --role prefill --kv-listen 127.0.0.1:0 --rows 8 >prefill.log 2>&1 3>&- &
  prefill=$!
  from=$(where prefill.log prefill)
}

start_decode() {
  local grid=$1
  shift
  "$muster" run --grid "$grid" "$infer" model --role decode --prefill "$from" --listen 0 "$@" >decode.log 2>&1 3>&- &
  decode=$!
  at=$(where decode.log http)
}

pulled() { grep -c "positions came from $1 ranks" decode.log; }

@test "decode ranks pull from other grids, and go on with the same tokens" {
  start_prefill tp=2
  start_decode tp=1,pp=2
  ask | cmp want -
  [ "$(pulled 2)" = 2 ]
  kill "$decode"
  wait "$decode" || true
  start_decode tp=2 # another decode: it asks anew
  ask | cmp want -
  [ "$(pulled 2)" = 2 ]
}

@test "a prefill role with another model is not used: prompts are computed in place" {
  "$infer" --make-random layers=3,length=64 --seed 8 other
  start_prefill tp=1 other
  start_decode tp=1
  ask | cmp want -
  [ "$(grep -c 'it has another model (checkpoint); [0-9]* positions are computed here' decode.log)" = 2 ]
  [ "$(pulled 1)" = 0 ]
}

# A prefill leader that says that somebody at port 1 has what it is asked for; a line for each ask.
deceive() {
  python3 -u - >asked.log 3>&- <<'END' &
import socket, struct
listener = socket.create_server(("127.0.0.1", 0))
print("prefill: listens at 127.0.0.1:%d" % listener.getsockname()[1])
asks = []
while True:
    asks.append(listener.accept()[0])
    print("asked")
    asks[-1].sendall(struct.pack("<4sIQII", b"MKR1", 0, 7, 1, 0) +
                     struct.pack("<48sIIIII", b"127.0.0.1", 1, 0, 3, 0, 4))
END
  prefill=$!
  from=$(where asked.log prefill)
}

@test "ranks that cannot be pulled from are let alone, and prompts are computed in place" {
  deceive
  start_decode tp=2
  ask | cmp want -
  grep -q 'port 1: Connection refused; .* are computed here, and all others for 15 s' decode.log
  local asked
  asked=$(grep -c '^asked' asked.log)
  ask | cmp want -
  [ "$(grep -c '^asked' asked.log)" = "$asked" ]
}

# A text that goes on and on, and a prompt that half of what it needs has come for on both ranks.
begin_slow_pull() { # begin_slow_pull DECODE-ARGS...
  "$infer" --make-random layers=2,length=60000 model
  "$infer" model --prompt 'In the beginning' --json --max-tokens 20 | tokens_of >want
  start_prefill tp=1
  python3 -u "$BATS_TEST_DIRNAME/slow_pull.py" "$from" "$PWD" >slow.log 2>&1 3>&- &
  slow=$!
  from=$(where slow.log prefill)
  start_decode tp=2 "$@"
  curl -sS -N -m 120 "http://$at/v1/completions" -d '{"prompt": "x", "max_tokens": 59000, "temperature": 0,
    "stream": true}' >stream 3>&- &
  stream=$!
  wait_for 30 grep -q '^data: {' stream
  curl -sS -m 60 "http://$at/v1/completions" -d '{"prompt": "In the beginning", "max_tokens": 20, "temperature": 0,
    "return_token_ids": true}' >late 3>&- &
  late=$!
  wait_for 30 eval '[ "$(grep -c "^half" slow.log)" = 2 ]'
}

streamed() { grep -c '^data: {' stream; }
goes_on() {
  local n
  n=$(streamed)
  wait_for 30 eval "[ \"\$(streamed)\" -gt $((n + 50)) ]"
}

@test "texts go on while keys and values come in slowly for another" {
  begin_slow_pull
  goes_on
  [ ! -s late ]
  touch go
  wait "$late"
  tokens_of <late | cmp want -
  [ "$(pulled 1)" = 1 ]
  goes_on
  kill "$stream"
}

@test "a source that dies half-way is named, and only its prompt is computed in place" {
  begin_slow_pull
  touch die
  wait "$late"
  tokens_of <late | cmp want -
  grep -Eq 'prefill: 127.0.0.1 port [0-9]+: the connection was closed with [0-9]+ bytes to come; 15 positions are computed here' decode.log
  [ "$(pulled 1)" = 0 ]
  goes_on
  kill "$stream"
}

@test "a client that goes away while keys and values come in gives its slot back" {
  begin_slow_pull --slots 2
  kill "$late"
  wait "$late" || true
  wait_for 30 eval '[ "$(grep -c "^gone" slow.log)" = 2 ]'
  [[ "$(curl -sS -m 60 "http://$at/v1/completions" -d '{"prompt": [7], "max_tokens": 2}')" == *'"finish_reason":"length"'* ]]
  [ "$(grep -c 'prefill: ' decode.log)" = 0 ] # no pull came to an end by itself
  goes_on
  kill "$stream"
}

@test "roles of one run find each other; a decode rank is killed, and the role serves again" {
  "$muster" run --on-failure restart --healthy 0 --grace 1 \
    --role prefill -n 2 "$infer" model --role prefill \
    : --role decode -n 2 "$infer" model --role decode --pp 2 --listen 0 >decode.log 2>&1 3>&- &
  decode=$!
  at=$(where decode.log http)
  ask | cmp want -
  [ "$(pulled 2)" = 2 ]
  kill -KILL "$(pgrep -f "^$infer model --role decode" | head -1)"
  wait_for 60 eval '[ "$(grep -c "http: listens at" decode.log)" = 2 ]'
  at=$(sed -n 's/.*http: listens at //p' decode.log | tail -1)
  ask | cmp want -
  [ "$(pulled 2)" = 4 ]
  [ "$(grep -c 'prefill: listens at' decode.log)" = 1 ] # the other role ran on
}

@test "2 prefill and 2 decode pods serve the tokens of one rank, also after a decode pod is replaced" {
  bed_setup
  chmod 755 "$BATS_TEST_TMPDIR"
  agents_up 5 --share "$BATS_TEST_TMPDIR"
  "$podbox" exec train-4 timeout 200 "$muster" run --on-failure restart --healthy 0 --grace 1 --pods 'train-[0-3].train' \
    --ppn 1 --role prefill -n 2 "$infer" "$PWD/model" --role prefill \
    : --role decode -n 2 "$infer" "$PWD/model" --role decode --tp 1 --pp 2 --listen 0.0.0.0:8000 >decode.log 2>&1 3>&- &
  local job=$!
  wait_for 60 grep -q 'http: listens at' decode.log
  at=$("$podbox" ip train-2):8000
  ask "$podbox" exec train-4 | cmp want -
  [ "$(pulled 2)" = 2 ]
  "$podbox" replace train-3
  "$podbox" exec train-3 -d "$musterd"
  wait_for 60 eval '[ "$(grep -c "http: listens at" decode.log)" = 2 ]'
  ask "$podbox" exec train-4 | cmp want -
  [ "$(pulled 2)" = 4 ]
  kill -TERM "$job"
  ends_within 60 "$job"
}

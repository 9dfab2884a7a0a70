#!/usr/bin/env bats
# contrib/k8s/lws-prefill-decode/proxy.py against stand-in servers, all on loopback: what it asks of
# vLLM and of SGLang, and whom it asks. (k8s_pods.bats runs it from its manifest.)

setup() {
  load helper
  cd "$BATS_TEST_TMPDIR" || return
  net=127.$((RANDOM % 200 + 20)).$((RANDOM % 250))
  pids=()
  server 2
  server 3
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || cat ./*.log
  kill "${pids[@]}" 2>/dev/null || :
  wait
}

# server N: at $net.N.
server() {
  MUSTER_ATTEMPT=1 VLLM_HOST_IP=$net.$1 python3 "$MUSTER_SRCDIR/tests/k8s/serve.py" "--host=$net.$1" --port=8000 \
    >"server.$1.log" 2>&1 3>&- &
  pids+=($!)
}

# roles ROLE:STATE:N...: the role file says so.
roles() {
  python3 - "$net" "$@" >roles.part <<'JSON'
import json
import sys
net, *words = sys.argv[1:]
parts = [w.split(':') for w in words]
print(json.dumps({'version': 1, 'roles': {name: {'state': state, 'attempt': 1, 'leader': f'{net}.{n}', 'port': 0, 'members': []}
                                          for name, state, n in parts}}))
JSON
  mv roles.part roles.json
}

# proxy [OPTION...]: at $net.1; returns when it listens.
proxy() {
  MUSTER_ROLE_FILE=$PWD/roles.json python3 "$MUSTER_SRCDIR/contrib/k8s/lws-prefill-decode/proxy.py" \
    "--listen=$net.1:8000" "$@" >proxy.log 2>&1 3>&- &
  proxy_pid=$!
  pids+=("$proxy_pid")
  wait_for 30 listens 1
  wait_for 30 listens 2
  wait_for 30 listens 3
}

listens() { bash -c "exec 4<>/dev/tcp/$net.$1/8000" 2>/dev/null; }

# asks PATH [CURL-OPTION...]: sets output: answer and code.
asks() { run -0 curl -sS --max-time 30 -w ' %{http_code}' "${@:2}" "http://$net.1:8000$1"; }

completes() { asks /v1/completions --data-binary '{"prompt":"p","max_tokens":7,"max_completion_tokens":7}'; }

@test "vLLM: prefill, then decode; a server that is away is passed over, a role that is not running is not asked" {
  roles prefill:running:2 decode-0:running:9 decode-1:running:3 decoder:running:8
  proxy
  local i
  for i in 1 2 3; do
    completes
    [ "$output" = "{\"text\": \"p x7 at $net.3, prefilled at $net.2\"} 200" ]
  done
  asks /v1/models
  [ "$output" = "{\"data\": [{\"id\": \"$net.3\"}]} 200" ]
  asks /v1/nothing
  [ "$output" = ' 404' ]
  asks /health
  [ "$output" = ' 200' ]
  roles prefill:running:2 decode-0:running:9 decode-1:restarting:3
  completes
  [[ "$output" == '{"error": {"message": "no decode server: '"$net.9: "*' 503' ]]
  asks /health
  [[ "$output" == '{"error": {"message": "no decode server is well"'*' 503' ]]
  roles prefill:stopping:2 decode-1:running:3
  completes
  [[ "$output" == '{"error": {"message": "no prefill server: its roles are not running"'*' 503' ]]
  asks /v1/completions --data-binary '[1]'
  [[ "$output" == '{"error": {"message": "the body is no JSON: an object is wanted"'*' 400' ]]
  asks /v1/completions -H 'Transfer-Encoding: chunked' --data-binary '{}'
  [[ "$output" == '{"error": {"message": "a Content-Length is needed"'*' 411' ]]
}

@test "SGLang: both at once, in a room of the prefill server; the signal has the file read" {
  roles prefill-0:running:2 decode:starting:3
  proxy --protocol=sglang --bootstrap-port=9001
  roles prefill-0:running:2 decode:running:3
  kill -URG "$proxy_pid"
  wait_for 30 grep -qx "servers: prefill-0=$net.2 decode=$net.3" proxy.log
  completes
  [ "$output" = "{\"text\": \"at $net.3, met at $net.2:9001\"} 200" ]
  roles prefill-0:running:9 decode:running:3
  completes
  [[ "$output" == *'"no prefill server is well"'*' 503' ]]
}

@test "outside of a role it says what is missing" {
  run -2 env -u MUSTER_ROLE_FILE python3 "$MUSTER_SRCDIR/contrib/k8s/lws-prefill-decode/proxy.py"
  [[ "$output" == *'MUSTER_ROLE_FILE is not set: this is a program for `muster run --role proxy`'* ]]
}

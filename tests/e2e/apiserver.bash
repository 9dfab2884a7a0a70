# The emulated API server (apiserver.py) for tests of contrib/k8s, with a pod's environment.
# shellcheck disable=SC2034  # what functions set for the tests that load this

# serve HOSTFILE: the emulation with a ConfigMap group that has it, and a pod's environment.
serve() {
  local tool
  for tool in curl openssl python3; do
    command -v "$tool" >/dev/null || skip "$tool is missing"
  done
  mkdir -p api account
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=api \
    -addext subjectAltName=IP:127.0.0.1 -keyout api/tls.key -out api/tls.crt 2>/dev/null
  cp api/tls.crt account/ca.crt
  echo secret-token | tee api/token >account/token
  echo ml >account/namespace
  python3 - "$1" >api/object.json <<'END'
import json, sys
text = open(sys.argv[1], newline="", encoding="utf-8").read()
json.dump({"kind": "ConfigMap", "apiVersion": "v1",
           "metadata": {"name": "group", "namespace": "ml", "resourceVersion": "7",
                        "annotations": {"owner": "us"}},
           "data": {"hostfile": text, "other": "keep"}}, sys.stdout)
END
  python3 "$BATS_TEST_DIRNAME/apiserver.py" api 2>api/stderr 3>&- &
  server=$!
  wait_for 20 test -s api/port
  export MUSTER_SERVICE_ACCOUNT=$PWD/account MUSTER_CONFIGMAP=group
  export KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT
  KUBERNETES_SERVICE_PORT=$(cat api/port)
}

# The manifests of contrib/k8s: rendered, validated, and run on emulated pods. Load after
# helper.bash, muster.bash and venv.bash.
# shellcheck disable=SC2034,SC2154  # set for, and by, those that load this

k8s=$MUSTER_BUILDDIR/k8s
k8s_python=$k8s/venv/bin/python
overlays=$MUSTER_SRCDIR/contrib/k8s
validate_version=1.37.0

# k8s_need_renderer: skips where nothing renders a kustomization with components (kubectl 1.22,
# kustomize 4, or newer; Debian 12's own kubectl is older).
k8s_need_renderer() {
  local version
  if command -v kubectl >/dev/null; then
    version=$(timeout 30 kubectl version --client 2>/dev/null | sed -n 's/^Kustomize Version: v\([0-9]*\).*/\1/p')
    [ "${version:-0}" -lt 4 ] || { k8s_renderer=(kubectl kustomize) && return; }
  fi
  command -v kustomize >/dev/null || skip "neither kubectl 1.22 nor kustomize 4 is here"
  k8s_renderer=(kustomize build)
}

# k8s_make: the validators from PyPI, once; says why it cannot.
k8s_make() { venv_make k8s "kubernetes-validate==$validate_version" jsonschema PyYAML; }

# overlay_names: every folder of contrib/k8s that a user can apply.
overlay_names() {
  local file
  for file in "$overlays"/*/kustomization.yaml; do
    grep -q '^kind: Component' "$file" || basename "$(dirname "$file")"
  done
}

# render DIR [FILE]: prints what `kubectl apply -k` would send; into FILE, if one is named.
render() { timeout 60 "${k8s_renderer[@]}" "$1" >"${2:-/dev/stdout}"; }

# with_component NAME OVERLAY DIR: a kustomization in DIR of an overlay with that component.
with_component() {
  mkdir -p "$3"
  printf 'kind: Kustomization\nresources: [%s]\ncomponents: [%s]\n' \
    "$(realpath --relative-to="$3" "$overlays/$2")" "$(realpath --relative-to="$3" "$overlays/$1")" \
    >"$3/kustomization.yaml"
}

# k8s_bed: once a file: what manifests need to run on emulated pods. The Muster image is that of
# contrib/k8s/Containerfile, as a folder; the users' image is this machine, with the build tree.
k8s_bed() {
  local why
  why=$(k8s_make) || { echo "$why" >"$k8s/missing"; return; }
  rm -f "$k8s/missing"
  # Beside the bundle of other tests, and made anew: it is a copy of what was built.
  "$MUSTER_SRCDIR/contrib/bundle/bundle" "$MUSTER_BUILDDIR" "$k8s/bundle"
  "$MUSTER_SRCDIR/tests/k8s/containerfile.py" "$overlays/Containerfile" "$k8s/bundle" / "$k8s/image" >"$k8s/user"
}

# k8s_mine OVERLAY SED-EXPRESSION...: sets manifest: an overlay as a user changes it, rendered; and logs.
k8s_mine() {
  local overlay=$1 file
  shift
  [ ! -e "$k8s/missing" ] || skip "$(cat "$k8s/missing")"
  "$MUSTER_BUILDDIR/launcher/muster" keygen "$BATS_TEST_TMPDIR/key" >/dev/null
  cp -r "$overlays" "$BATS_TEST_TMPDIR/mine"
  for file in "$BATS_TEST_TMPDIR/mine/$overlay"/*.yaml; do sed -E -i "$@" "$file"; done
  manifest=$BATS_TEST_TMPDIR/$overlay.yaml
  logs=$BATS_TEST_TMPDIR/logs
  mkdir -p "$logs"
  render "$BATS_TEST_TMPDIR/mine/$overlay" "$manifest"
}

# k8s_command POD/CONTAINER [ARG...]: sets k8s_words: what runs $manifest on emulated pods, until that
# container ends, whose exit code is its own. Logs: $logs/POD.CONTAINER.log.
k8s_command() {
  local mine="/,entrypoint=/usr/bin/env,bind=$MUSTER_BUILDDIR,bind=$MUSTER_SRCDIR/tests/k8s"
  k8s_words=(timeout 100 "$k8s_python" "$MUSTER_SRCDIR/tests/k8s/translate/translate.py" run --podbox "$PODBOX" \
    --bed "$PODBOX_BED" --logs "$logs" --image "registry.example.com/muster=$k8s/image,user=$(cut -d: -f1 "$k8s/user")" \
    --image "registry.example.com/train=$mine" --image "docker.io/vllm/vllm-openai=$mine" \
    --image "docker.io/lmsysorg/sglang=$mine" \
    --image "docker.io/library/python=$mine" \
    --secret "muster-key=$BATS_TEST_TMPDIR/key" --until "$1" "${@:2}" "$manifest")
}

k8s_run() {
  k8s_command "$@"
  "${k8s_words[@]}"
}

# k8s_start POD/CONTAINER: the same in the background. Sets run_job, which ends all of it when it is told SIGTERM.
k8s_start() {
  k8s_command "$@"
  "${k8s_words[@]}" >"$BATS_TEST_TMPDIR/events" 2>&1 3>&- &
  run_job=$!
}

# k8s_order WORD...: a controller's move in the bed of a k8s_run.
k8s_order() {
  timeout 60 "$k8s_python" "$MUSTER_SRCDIR/tests/k8s/translate/translate.py" order "$logs" "$@"
}

k8s_logs() { tail -n 50 "$logs"/*.log; }

# The manifests of contrib/k8s: rendered, validated, and run on emulated pods. Load after
# helper.bash and muster.bash.
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
k8s_make() {
  [ ! -e "$k8s/ready-$validate_version" ] || return 0
  mkdir -p "$k8s"
  (
    set -e
    /usr/bin/python3 -m venv --clear "$k8s/venv"
    "$k8s/venv/bin/pip" install -q "kubernetes-validate==$validate_version" jsonschema PyYAML
    touch "$k8s/ready-$validate_version"
  ) >"$k8s/make.log" 2>&1 || {
    echo "kubernetes-validate could not be fetched ($k8s/make.log): $(tail -1 "$k8s/make.log")"
    return 1
  }
}

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

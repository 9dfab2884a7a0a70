#!/usr/bin/env bash
# The environments that tests have from PyPI, made before they run, side by side; a test makes what it misses.
# What cannot be had is told, and skipped there.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
: "${MUSTER_BUILDDIR:?run this through ./dev check}" "${MUSTER_SRCDIR:=$here/../..}"
for part in venv k8s mpi4py; do
  # shellcheck source=/dev/null  # each is checked by itself
  . "$here/$part.bash"
done

for name in k8s deepspeed mpi4py; do
  { begun=$SECONDS
    if why=$("${name}_make"); then echo "$name: there after $((SECONDS - begun)) s"; else echo "no $name: $why"; fi; } &
done
wait

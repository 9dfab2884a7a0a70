# mpi4py and its own test suite, from PyPI, in a venv below the build directory.
# Load after helper.bash and muster.bash.
# shellcheck disable=SC2034,SC2154  # set for, and by, those that load this

mpi4py_version=4.1.2
mpi4py=$MUSTER_BUILDDIR/mpi4py
python=$mpi4py/venv/bin/python
suite=$mpi4py/test/main.py

# mpi4py_make: once; says why it cannot. MPICH 5 has a venv of its own: PyPI's MPIs all want
# to be the one of their venv.
mpi4py_make() {
  [ ! -e "$mpi4py/ready-$mpi4py_version" ] || return 0
  command -v /usr/bin/python3 >/dev/null || { echo "no /usr/bin/python3"; return 1; }
  rm -rf "$mpi4py"
  mkdir -p "$mpi4py"
  (
    set -e
    /usr/bin/python3 -m venv "$mpi4py/venv"
    /usr/bin/python3 -m venv "$mpi4py/mpich"
    "$mpi4py/venv/bin/pip" install -q setuptools wheel "mpi4py==$mpi4py_version"
    "$mpi4py/mpich/bin/pip" install -q "mpi4py==$mpi4py_version" mpich==5.0.2
    "$mpi4py/venv/bin/pip" download -q --no-deps --no-build-isolation \
      --no-binary mpi4py -d "$mpi4py" "mpi4py==$mpi4py_version"
    tar -C "$mpi4py" --strip-components 1 -xzf "$mpi4py/mpi4py-$mpi4py_version.tar.gz" \
      "mpi4py-$mpi4py_version/test"
    touch "$mpi4py/ready-$mpi4py_version"
  ) >"$mpi4py/make.log" 2>&1 || {
    echo "mpi4py $mpi4py_version could not be fetched ($mpi4py/make.log): $(tail -1 "$mpi4py/make.log")"
    return 1
  }
}

# mpi4py_pods N: a bed with agents and $shared, a directory that all pods write: for MPI-IO,
# and for programs that the suite writes to spawn them.
mpi4py_pods() {
  shared=$BATS_TEST_TMPDIR/shared
  mkdir -p "$shared"
  agents_up "$1" --share "$shared"
}

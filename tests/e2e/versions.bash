# Helpers for tests of other library versions: roots, programs built for them, bundles. Load
# after helper.bash and muster.bash.
# shellcheck disable=SC2034,SC2154  # what functions set for the tests, and what bats sets

roots=$MUSTER_BUILDDIR/roots

# need_root NAME...: skips, with the reason, where tests/roots/make could not make one.
need_root() {
  local name
  for name in "$@"; do
    [ -e "$roots/$name.made" ] ||
      skip "$(cat "$roots/$name.missing" 2>/dev/null || echo "no $roots/$name: run tests/roots/make $roots")"
  done
}

# build_for ROOT PROGRAM...: programs of tests/mpi, and pmix_probe, with the headers and
# libraries of a root, or by a wheel's compiler wrapper. Sets progs, the folder they are in.
build_for() {
  local root=$roots/$1 lib=usr/lib/x86_64-linux-gnu program source
  progs=$MUSTER_BUILDDIR/tests/versions/$1
  mkdir -p "$progs"
  shift
  for program in "$@"; do
    source=$MUSTER_SRCDIR/tests/mpi/$program.c
    [ "$program" != -- ] || continue
    [ "$program" != pmix_probe ] || source=$MUSTER_SRCDIR/tests/unit/pmix_probe.c
    [ "$source" -nt "$progs/$program" ] || [ "$roots/${root##*/}.made" -nt "$progs/$program" ] || continue
    if [ -x "$root/bin/mpicc" ]; then
      "$root/bin/mpicc" -std=gnu11 -I"$MUSTER_SRCDIR" -o "$progs/$program" "$source"
    else
      gcc --sysroot="$root" -B"$root/$lib" -std=gnu11 -I"$MUSTER_SRCDIR" -I"$root/$lib/openmpi/include" \
        -I"$root/$lib/pmix2/include" -o "$progs/$program" "$source" -L"$root/$lib/openmpi/lib" \
        -L"$root/$lib/pmix2/lib" -L"$root/$lib" -Wl,--as-needed -lmpi -lpmix \
        -Wl,--unresolved-symbols=ignore-in-shared-libs
    fi
  done
}

# bundle_of NAME [ROOT]: Muster with this machine's libraries, or with ROOT's, at a path that
# every pod has. Sets muster and musterd.
bundle_of() {
  local dir=$MUSTER_BUILDDIR/$1
  shift
  "$MUSTER_SRCDIR/contrib/bundle/bundle" "$MUSTER_BUILDDIR" "$dir" "$@" || return 1
  muster=$dir/bin/muster
  musterd=$dir/bin/musterd
}

# run4 PROGRAM [ARG...]: 8 ranks on 4 pods (RANKS: fewer); stdout in $output.
run4() {
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-3].train' --slots 2 \
    -n "${RANKS:-8}" "$progs/$1" "${@:2}"
}

# runs PROGRAM... [-- MORE...]: each ends well on the 4 pods, with the right results; MORE only
# with VERSIONS=all, for the table of the manual.
runs() {
  local program
  for program in "$@"; do
    if [ "$program" = -- ]; then
      [ "${VERSIONS:-}" = all ] || return 0
      continue
    fi
    if [ "$program" = spawn ]; then RANKS=1 run4 spawn 3; else run4 "$program"; fi
    echo "$program: $status"
    echo "$output$stderr"
    [ "$status" = 0 ] || return 1
    says_right "$program" || return 1
  done
}

# What a program prints when all is right.
says_right() {
  case $1 in
    hello) [ "$(grep -c 'of 8 on train-[0-3], shared 2$' <<<"$output")" = 8 ] ;;
    allreduce) [ "$(grep -c '^allreduce of 8: .* right$' <<<"$output")" = 5 ] ;;
    publish) [ "$(grep -c 'of 8: names right$' <<<"$output")" = 8 ] ;;
    accept) [ "$(grep -c 'of 8: sums across right$' <<<"$output")" = 8 ] ;;
    sessions) [ "$(grep -Ec 'of 8: (first|second) right$' <<<"$output")" = 16 ] ;;
    spawn) [[ "$output" == *"child 2 of 3 on train-1"* && "$output" == *"together 4"* ]] ;;
    *) echo "nothing is known of $1"; false ;;
  esac
}

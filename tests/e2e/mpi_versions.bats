#!/usr/bin/env bats
# Ranks that bring other versions of libpmix than muster-pmixd has, over 4 pods.
#
# The server is muster-pmixd with this machine's libpmix (bundle-host) or with Debian 13's
# (bundle-13); a bundle runs in any image. man/muster-mpi.7.scd has the table of the pairs.

setup() {
  load helper
  load muster
  load versions
  bed_setup
}

teardown() { bed_teardown; }

# pods4 UP-OPTION...: four pods with agents of the bundle chosen before.
pods4() { agents_up 4 "$@"; }

# both ROOT PROGRAM... [-- MORE...]: built for it, and run.
both() {
  build_for "$@"
  runs "${@:2}"
}

# The job ended with one line that has both versions, and none of libpmix's own.
names_both_versions() {
  echo "$output$stderr"
  [ "$status" = 125 ]
  [ "$(grep -c . <<<"$stderr")" = 1 ]
  [[ "$stderr" == *"PMIX_VERSION: the ranks use libpmix "$1" and muster-pmixd "$2": "* ]]
}

@test "Debian 11 (Open MPI 4.1.0, libpmix 4.0.0) under muster-pmixd with 4.2" {
  need_root bullseye
  bundle_of bundle-host
  pods4 --root "$roots/bullseye"
  both bullseye hello accept spawn -- allreduce publish
  # The bundle's libpmix has not looked at the plugins of the image's.
  [ -z "$("$podbox" logs train-1 | grep -v '^musterd: ')" ]
}

@test "Debian 13 (Open MPI 5.0.7, libpmix 5.0.7) under muster-pmixd with 4.2" {
  need_root trixie
  bundle_of bundle-host
  pods4 --root "$roots/trixie"
  both trixie hello accept spawn -- allreduce publish
}

@test "case pmx-04: what two versions of libpmix cannot do is one line with both" {
  need_root trixie wheel-4.1
  bundle_of bundle-host
  pods4 --root "train-3=$roots/trixie"
  build_for trixie pmix_probe
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-3].train' --slots 2 \
    sh -c 'grep -q ^12 /etc/debian_version && exec sleep 60; exec '"$progs/pmix_probe group"
  names_both_versions '5.0.*' '4.2.*'
  build_for wheel-4.1 spawn
  RANKS=1 run4 spawn 3
  names_both_versions '3.2.*' '4.2.*'
}

@test "Debian 13 under its own libpmix, and MPI sessions" {
  need_root trixie
  pods4 --root "$roots/trixie" # no bundle: Debian 13's libraries start the same programs
  both trixie hello sessions -- allreduce publish accept spawn
}

@test "Debian 11 under muster-pmixd with Debian 13's libpmix" {
  need_root bullseye trixie
  bundle_of bundle-13 "$roots/trixie"
  pods4 --root "$roots/bullseye"
  both bullseye hello spawn -- allreduce publish accept
}

@test "this machine's Open MPI and PyPI's 4.1 and 5.0 under Debian 13's libpmix" {
  need_root trixie wheel-4.1 wheel-5.0
  bundle_of bundle-13 "$roots/trixie"
  pods4
  progs=$mpi
  runs hello spawn -- allreduce publish accept
  both wheel-4.1 hello -- allreduce publish accept
  both wheel-5.0 sessions -- hello allreduce publish accept spawn
}

@test "PyPI's Open MPI 4.1 (libpmix 3.2.5) and 5.0 (5.0.11) under muster-pmixd with 4.2" {
  need_root wheel-4.1 wheel-5.0
  pods4
  progs=$mpi
  runs -- hello allreduce publish accept spawn # this machine's: other tests have them, too
  both wheel-4.1 hello accept -- allreduce publish
  both wheel-5.0 hello spawn -- allreduce publish accept
  build_for wheel-5.0 sessions
  run4 sessions
  names_both_versions '5.0.*' '4.2.*'
}

# ---- several images in one job -----------------------------------------------------

# Every pod runs $first or $second, by its image.
run_mixed() {
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-3].train' --slots 2 \
    sh -c 'if [ "$(cut -c -2 /etc/debian_version)" = 12 ]; then exec '"$1"'; fi; exec '"$2"
  echo "$output$stderr"
}

@test "images with different libpmix in one job: PMIx works, and MPI says why not" {
  need_root trixie
  build_for trixie hello pmix_probe
  bundle_of bundle-host
  pods4 --root "train-2=$roots/trixie" --root "train-3=$roots/trixie"
  local probe=$MUSTER_BUILDDIR/tests/unit/pmix_probe mode
  for mode in fence connect; do
    run_mixed "$probe $mode" "$progs/pmix_probe $mode"
    [ "$status" = 0 ]
    [ "$(grep -c PMIX_VERSION <<<"$stderr")" = 1 ]
    [[ "$stderr" =~ "PMIX_VERSION: its ranks use libpmix "[45].*", those of train-".*[45] ]]
  done
  run_mixed "$mpi/hello" "$progs/hello"
  [ "$status" != 0 ]
  [ "$(grep -c PMIX_VERSION <<<"$stderr")" = 1 ]
}

# ---- tools -------------------------------------------------------------------------

@test "PMIx tools: served below a rank or with a name of their own, refused without" {
  local tool=$MUSTER_BUILDDIR/tests/unit/pmix_tool uri pid
  pods4
  run --separate-stderr lead timeout 30 "$muster" run --pods 'train-[0-3].train' --slots 1 "$tool"
  [ "$status" = 0 ]
  [ "$(grep -c '^served: muster-' <<<"$output")" = 4 ]
  start_hang --pods 'train-[0-3].train' --slots 2
  pid=$(pids_of train-1 tests/mpi/hang | head -n 1)
  uri=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^PMIX_SERVER_URI41=//p')
  run "$podbox" exec train-1 timeout 20 "$tool" "$uri"
  [ "$status" = 1 ]
  [[ "$output" == "refused: "* ]]
  run "$podbox" exec train-1 timeout 20 "$tool" "$uri" stranger
  [ "$status" = 0 ]
  [[ "$output" == "served: muster-"* ]]
  kill "$launcher_job"
  ends_within 20 "$launcher_job"
  [ "$code" = 143 ]
}

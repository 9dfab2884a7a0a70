#!/usr/bin/env bats
# A bundle is copied by the program in it, runs where it was copied to, and in no way else.

setup() {
  load helper
  load muster
  load versions
  bed_setup
}

teardown() { bed_teardown; }

@test "an init step copies it; Debian 11's and 13's own Open MPI ranks run from the copy" {
  need_root bullseye trixie
  bundle_of bundle-move
  build_for bullseye hello
  local eleven=$progs suite i
  build_for trixie hello
  pods_up 4 --root "$roots/bullseye" --root "train-2=$roots/trixie" --root "train-3=$roots/trixie"
  for i in 0 1 2 3; do
    # The image has neither libssh nor c-ares; whose user it is does not matter.
    "$podbox" exec "train-$i" "$MUSTER_BUILDDIR/bundle-move/bin/muster-install" /opt/muster
    "$podbox" exec "train-$i" -d /opt/muster/bin/musterd
  done
  # The pods have the bundle's own place, too: what is in use must be the copy.
  for suite in "0-1 $eleven" "2-3 $progs"; do
    run --separate-stderr "$podbox" exec "train-${suite%%-*}" timeout 60 /opt/muster/bin/muster run \
      --pods "train-[${suite%% *}].train" --slots 2 -n 4 "${suite#* }/hello"
    echo "$output$stderr"
    [ "$status" = 0 ]
    [ "$(grep -c 'of 4' <<<"$output")" = 4 ]
  done
  run -0 lead timeout 60 /opt/muster/bin/muster run --pods 'train-[0-1].train' --slots 1 sh -c 'env; cat /proc/$PPID/maps'
  [[ "$output" == *" /opt/muster/bin/musterd"* ]]
  [[ "$output" == *" /opt/muster/lib/libc.so.6"* ]]
  run ! grep -E '^LD_|=.*muster/lib| /(usr/)?lib' <<<"$output" # of the image, or left to ranks
}

@test "copied again over one that runs; a path of its own; what it refuses" {
  bundle_of bundle-move
  local install=$MUSTER_BUILDDIR/bundle-move/bin/muster-install dir=$BATS_TEST_TMPDIR/m
  "$install" "$dir"
  "$dir/bin/muster" run -n 1 sleep 60 3>&- &
  local job=$!
  wait_for 20 pgrep -P "$job"
  "$install" "$dir"
  kill -0 "$job"
  run -0 "$dir/bin/muster" run -n 2 echo again
  kill "$job"
  wait "$job" || true
  cd "$BATS_TEST_TMPDIR"
  "$install" n/
  run -0 n/bin/muster --version
  n/libexec/muster/netcheck --help | grep -q 'could not run' # by its own loader and libraries
  run -0 timeout 60 n/bin/muster check --local --check-command 'cpucheck --memory 8M --rounds 1 --deadline 50'
  [[ $output == *' cpu '*' pass '* ]]
  "$install" --as /elsewhere "$dir"
  run -127 "$dir/bin/muster" --version
  run -0 unshare -m sh -c "mkdir -p /run/elsewhere && mount -t tmpfs none /run/elsewhere &&
    $install --as /run/elsewhere/x $dir && mv $dir /run/elsewhere/x && /run/elsewhere/x/bin/muster --version"
  run -125 "$install" --as elsewhere "$dir"
  [[ "$output" == *"--as wants an absolute path"* ]]
  run -125 "$install"
  run -125 n/bin/muster-install n/inner
  [[ "$output" == *"inner: lies in the tree that is to be copied" ]]
  run -125 "$install" "/tmp/$(printf 'a%.0s' {1..1100})"
  [[ "$output" == *"File name too long"* ]]
  run -125 "$install" --as "/$(printf 'a%.0s' {1..1100})" o
  [[ "$output" == *"the programs have room for 1023" ]]
  run -125 "$install" /proc/m
  [[ "$output" == "muster-install: /proc/m: cannot be made: "* ]]
}

@test "the Containerfile's steps, in a Debian root: an image with /opt/muster alone, whose programs run there" {
  need_root trixie
  bundle_of bundle-move
  local file=$MUSTER_SRCDIR/contrib/k8s/Containerfile make=$MUSTER_SRCDIR/tests/k8s/containerfile.py
  local image=$BATS_TEST_TMPDIR/image user=65534:65534 program
  run -0 "$make" "$file" "$MUSTER_BUILDDIR/bundle-move" "$roots/trixie" "$image"
  [ "$output" = "$user" ]
  [ "$(cd "$image" && find . -maxdepth 2)" = "$(printf '.\n./opt\n./opt/muster')" ]
  for program in muster musterd muster-sidecar muster-install; do
    # As a container has it: with /proc, where the loader learns its place.
    run -0 unshare -m sh -ec 'mkdir -p "$1/proc"; mount -t proc none "$1/proc"; exec chroot --userspec="$2" "$1" "$3" --version' \
      sh "$image" "$user" "/opt/muster/bin/$program"
  done
  # A step that fails, and one that is not known, are errors that name their line.
  sed 's/--as/--at/' "$file" >"$BATS_TEST_TMPDIR/a"
  run -1 "$make" "$BATS_TEST_TMPDIR/a" "$MUSTER_BUILDDIR/bundle-move" "$roots/trixie" "$image"
  [[ "$output" == *"a:8: RUN "*'exit status 125'* ]]
  sed 's/^RUN.*/RUN muster-install/' "$file" >"$BATS_TEST_TMPDIR/b"
  run -1 "$make" "$BATS_TEST_TMPDIR/b" "$MUSTER_BUILDDIR/bundle-move" "$roots/trixie" "$image"
  [[ "$output" == *"b:8: RUN muster-install: "* ]]
}

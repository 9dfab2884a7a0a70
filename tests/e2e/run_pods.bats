#!/usr/bin/env bats
# muster run over emulated pods: DNS, ordinal names, hostfile.

setup() {
  load helper
  load muster
  bed_setup
}

teardown() { bed_teardown; }

# Each of the three programs on 8 ranks over 4 pods.
three_programs() {
  local program
  run --separate-stderr lead timeout 90 "$muster" run "$@" "$mpi/hello"
  [ "$status" = 0 ]
  [ "${#lines[@]}" = 8 ]
  # Shared memory within a pod: communicators of 2; block mapping over train-0..3.
  for r in 0 1 2 3 4 5 6 7; do
    grep -qE "^rank $r of 8 on train-$((r / 2)), shared 2$" <<<"$output"
  done
  for program in ring allreduce; do
    run lead timeout 90 "$muster" run "$@" "$mpi/$program"
    [ "$status" = 0 ]
  done
}

@test "members from DNS, not ready for the first 5 s" {
  agents_up 4 --not-ready
  (
    sleep 5 # the names' delay is what is tested
    "$podbox" ready all
  ) &
  start=$(ms)
  run --separate-stderr lead timeout 90 "$muster" run --dns train --slots 2 -n 8 "$mpi/hello"
  wait
  [ "$status" = 0 ]
  [ $(($(ms) - start)) -ge 5000 ]
  [ "$(grep -c 'of 8 on train-[0-3], shared 2' <<<"$output")" = 8 ]
  [[ "$stderr" == *"waiting for"*"train"* ]]
}

@test "Open MPI hello, ring, allreduce: members from DNS" {
  agents_up 4
  three_programs --dns train --slots 2 -n 8
}

@test "Open MPI hello, ring, allreduce: ordinal names" {
  agents_up 4
  three_programs --pods 'train-[0-3].train' --slots 2
}

@test "Open MPI hello, ring, allreduce: IP hostfile in the ConfigMap volume" {
  agents_up 4
  hostfile_of 4 2
  three_programs --hostfile /etc/muster/group/hostfile
}

@test "--map-by node: ranks go round the pods, shared memory and collectives follow" {
  agents_up 4
  run --separate-stderr lead timeout 90 "$muster" run --pods 'train-[0-3].train' --slots 2 \
    --map-by node "$mpi/hello"
  [ "$status" = 0 ]
  for r in 0 1 2 3 4 5 6 7; do
    grep -qE "^rank $r of 8 on train-$((r % 4)), shared 2$" <<<"$output"
  done
  run lead timeout 90 "$muster" run --pods 'train-[0-3].train' --slots 2 --map-by node "$mpi/allreduce"
  [ "$status" = 0 ]
}

@test "IPv6 pods: members from DNS" {
  agents_up 2 --ipv6
  run --separate-stderr lead timeout 90 "$muster" run --dns train --slots 2 -n 4 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'shared 2$' <<<"$output")" = 4 ]
}

@test "a tree of depth 3: fan-out 2 over 7 pods, collectives and output pass through" {
  agents_up 7
  run --separate-stderr lead timeout 90 "$muster" run --fanout 2 --pods 'train-[0-6].train' \
    --slots 1 "$mpi/allreduce"
  [ "$status" = 0 ]
  run --separate-stderr lead timeout 90 "$muster" run --fanout 2 --pods 'train-[0-6].train' \
    --slots 1 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 7 on train-[0-6], shared 1' <<<"$output")" = 7 ]
}

@test "between pods traffic goes over TCP" {
  agents_up 2
  run lead timeout 60 "$muster" run -x OMPI_MCA_btl=vader,self --pods 'train-[0-1].train' \
    --slots 1 "$mpi/ring"
  [ "$status" != 0 ] # without TCP they cannot reach each other
  run lead timeout 60 "$muster" run -x OMPI_MCA_btl=tcp,self --pods 'train-[0-1].train' \
    --slots 1 "$mpi/ring"
  [ "$status" = 0 ]
}

@test "ranks get their own container's environment, not the launcher's" {
  agents_up 2
  run --separate-stderr lead env MINE=launcher timeout 60 "$muster" run --ppn 1 \
    --pods 'train-[0-1].train' --slots 1 -x FORWARDED=yes \
    sh -c 'echo "$RANK $(hostname) ${MINE-unset} $FORWARDED $MASTER_ADDR"'
  [ "$status" = 0 ]
  ip=$("$podbox" ip train-0)
  [ "$(sort <<<"$output")" = "0 train-0 unset yes $ip
1 train-1 unset yes $ip" ]
}

@test "case dns-28: a hostname of 63 characters" {
  name=$(printf 'a%.0s' $(seq 61))
  "$muster" keygen "$BATS_TEST_TMPDIR/key" >/dev/null
  "$podbox" volume put key "$BATS_TEST_TMPDIR/key" >/dev/null
  "$podbox" up 2 --name "$name" --service train \
    --secret key:/etc/muster/ssh -- "$musterd" >/dev/null
  run --separate-stderr "$podbox" exec "$name-0" timeout 60 "$muster" run \
    --pods "$name-[0-1].train" --slots 1 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c "on $name-[01], shared 1" <<<"$output")" = 2 ]
}

@test "umask, rlimits and a read-only HOME of the agents are the ranks', MPI lives with them" {
  local i here="umask 027; ulimit -n 777; ulimit -c 0; export HOME='$MUSTER_BUILDDIR'"
  pods_up 2
  for i in 0 1; do "$podbox" exec "train-$i" -d sh -c "$here; exec '$musterd'"; done
  run --separate-stderr lead env HOME="$MUSTER_BUILDDIR" timeout 60 "$muster" run \
    --pods 'train-[0-1].train' --slots 1 sh -c \
    'touch "$HOME/x" 2>/dev/null || echo "$HOME $(umask) $(ulimit -n) $(ulimit -c)"'
  [ "$status" = 0 ]
  [ "$output" = "$MUSTER_BUILDDIR 0027 777 0
$MUSTER_BUILDDIR 0027 777 0" ]
  run --separate-stderr lead env HOME="$MUSTER_BUILDDIR" timeout 60 "$muster" run \
    --pods 'train-[0-1].train' --slots 2 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 4 on train-[01], shared 2$' <<<"$output")" = 4 ]
}

# Of its GPU memory see tests/CASES.md.
@test "case lau-09: a rank forks ten children and fails: none is left on any pod" {
  agents_up 2
  run lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 --pmi none --grace 1 bash -c '
    for i in 1 2 3 4 5; do
      sleep 1009.5 & setsid sleep 1009.5 &
    done
    [ "$RANK" = 0 ] || exit 1
    wait'
  [ "$status" = 1 ]
  [[ "$output" == *"rank 1 on train-1.train "*"exit code 1"* ]]
  [ -z "$(pids_of train-0 'sleep 1009' && pids_of train-1 'sleep 1009')" ]
}

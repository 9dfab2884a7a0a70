#!/usr/bin/env bats
# What went wrong with PMIx elsewhere: directories, crowds, aborts, names, other launchers.

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR"
  probe=$MUSTER_BUILDDIR/tests/unit/pmix_probe
}

teardown() { bed_teardown; }

as_user() { setpriv --reuid 1234 --regid 1234 --clear-groups "$@"; }

# A build that another user may run, and a temporary directory that all may write.
shared_tmp() {
  [ "$(id -u)" = 0 ] || skip "needs root, to be several users"
  as_user test -x "$muster" || skip "the build directory is closed to other users"
  tmp=$(mktemp -d)
  chmod 1777 "$tmp"
}

@test "case pmx-02: files of another user in the temporary directory" {
  shared_tmp
  host=$(hostname)
  mkdir -m 700 "$tmp/ompi.$host.0" "$tmp/ompi.$host.1234" "$tmp/openmpi-sessions-1234@${host}_0"
  touch "$tmp/muster" "$tmp/pmix-$host" "$tmp/pmix.sys.$host"
  run timeout 60 env TMPDIR="$tmp" "$muster" run -n 2 "$mpi/hello"
  [ "$status" = 0 ]
  before=$(ls -A "$tmp")
  run as_user timeout 60 env TMPDIR="$tmp" HOME="$tmp" "$muster" run -n 2 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 2 on .*, shared 2' <<<"$output")" = 2 ]
  [ "$(ls -A "$tmp")" = "$before" ] # each job's own directory is gone
  rm -rf "$tmp"
}

@test "case pmx-03: a temporary directory that cannot be written" {
  shared_tmp
  chmod 755 "$tmp"
  run as_user timeout 60 env TMPDIR="$tmp" HOME=/ "$muster" run -n 2 "$mpi/hello"
  [ "$status" = 125 ]
  [[ "$output" == *"cannot make a directory $tmp/muster-"*"as uid 1234"*"Permission denied"* ]]
  [[ "$output" != *"PMIX ERROR"* ]]
  rm -rf "$tmp"
}

@test "case pmx-05: 56 ranks connect on one member at once" {
  run timeout 120 "$muster" run -n 56 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 56 on .*, shared 56' <<<"$output")" = 56 ]
}

@test "case pmx-07: an abort among 200 ranks is one line" {
  run --separate-stderr timeout 120 "$muster" run --quiet -n 200 "$probe" quit 150
  [ "$status" = 9 ]
  [ "$(grep -c . <<<"$stderr")" = 1 ]
  [[ "$stderr" == "muster: rank 150 on "*"MPI_Abort(9): gave up" ]]
}

@test "case pmx-08: hostnames of 64 characters" {
  bed_setup
  pods_up 2
  local i
  for i in 0 1; do
    nsenter -u -t "$(pids_of "train-$i" . | head -1)" hostname "$(printf '%063d%d' 0 "$i")"
  done
  start_agents 2
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 2 \
    "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 4 on 0*[01], shared 2$' <<<"$output")" = 4 ]
  run --separate-stderr lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 2 \
    sh -c 'echo "$PMIX_HOSTNAME $LOCAL_RANK"'
  [ "$status" = 0 ]
  [ "$(sort -u <<<"$output" | wc -l)" = 4 ]
  [ "$(awk '{ print length($1) < 64, $2 }' <<<"$output" | sort | uniq -c | awk '{ print $1, $2, $3 }')" = "2 1 0
2 1 1" ]
}

@test "case pmx-10: variables of another launcher around agent and launcher" {
  bed_setup
  pods_up 2
  local others=(SLURM_JOBID=7 SLURM_JOB_ID=7 SLURM_PROCID=3 SLURM_NTASKS=9 PMIX_RANK=5
    PMIX_NAMESPACE=other PMIX_SERVER_URI2=other.0 PMI_RANK=6 PMI_FD=77 OMPI_COMM_WORLD_RANK=8
    FLUX_JOB_ID=1 OMPI_MCA_ess=slurm) i
  for i in 0 1; do "$podbox" exec "train-$i" -d env "${others[@]}" "$musterd"; done
  run --separate-stderr lead env "${others[@]}" timeout 60 "$muster" run \
    --pods 'train-[0-1].train' --slots 2 "$mpi/hello"
  [ "$status" = 0 ]
  [ "$(grep -c 'of 4 on train-[01], shared 2$' <<<"$output")" = 4 ]
  run --separate-stderr lead env "${others[@]}" timeout 60 "$muster" run \
    --pods 'train-[0-1].train' --slots 2 env
  [ "$status" = 0 ]
  kept=$output
  run ! grep -E "^(SLURM_|FLUX_JOB_ID|PMI_FD=77\$|PMIX_NAMESPACE=other|OMPI_MCA_ess=)" <<<"$kept"
  [ "$(grep '^PMI_RANK=' <<<"$kept" | sort | tr '\n' ' ')" = "PMI_RANK=0 PMI_RANK=1 PMI_RANK=2 PMI_RANK=3 " ]
}

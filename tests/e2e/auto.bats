#!/usr/bin/env bats
# --auto: pods with the environment and the files that each system gives, and no option that
# names a source.

setup() {
  load helper
  load muster
  bed_setup
  sidecar=$MUSTER_BUILDDIR/sidecar/muster-sidecar
}

teardown() { bed_teardown; }

# pods NAMES SERVICE [UP-OPTION...]: pods with an agent each.
pods() {
  local names=$1 service=$2
  shift 2
  "$muster" keygen "$BATS_TEST_TMPDIR/key" >/dev/null
  "$podbox" volume put key "$BATS_TEST_TMPDIR/key" >/dev/null
  "$podbox" up --names "$names" --service "$service" --secret key:/etc/muster/ssh "$@" \
    -- "$musterd" >/dev/null
}

# files VOLUME NAME TEXT...: a ConfigMap volume.
files() {
  local volume=$1
  shift
  mkdir -p "$BATS_TEST_TMPDIR/$volume"
  while (($# > 0)); do
    printf '%b' "$2" >"$BATS_TEST_TMPDIR/$volume/$1"
    shift 2
  done
  "$podbox" volume put "$volume" "$BATS_TEST_TMPDIR/$volume" >/dev/null
}

# in_pod POD [--env NAME=VALUE...] CMD...
in_pod() { timeout 30 "$podbox" exec "$@"; }

# runs_on POD [--env NAME=VALUE...] -- [RUN-OPTION...]: a rank on each member says where it is;
# sets line (what was told of the source) and where ("a,b").
runs_on() {
  local pod=$1 env=()
  shift
  while [ "$1" != -- ]; do env+=("$1"); shift; done
  shift
  run --separate-stderr in_pod "$pod" "${env[@]}" "$muster" run --pmi none --ppn 1 "$@" \
    sh -c 'echo "$RANK $(hostname)"'
  echo "$output" "$stderr"
  [ "$status" = 0 ]
  line=$(grep -o 'source: .*' <<<"$stderr" || :)
  where=$(sort -n <<<"$output" | cut -d' ' -f2 | paste -sd,)
}

@test "nothing says which group this is: this machine, or an error" {
  run --separate-stderr "$muster" run --pmi none -n 1 echo here
  [ "$status" = 0 ] && [ "$output" = here ] && [ -z "$stderr" ]
  run --separate-stderr env KUBERNETES_SERVICE_HOST=10.96.0.1 "$muster" run --pmi none -n 1 echo here
  [ "$status" = 0 ] && [ "$output" = here ] && [[ "$stderr" == 'muster: source: this machine; '* ]]
  run --separate-stderr env KUBERNETES_SERVICE_HOST=10.96.0.1 "$muster" run --quiet --pmi none -n 1 true
  [ "$status" = 0 ] && [ -z "$stderr" ]
  run "$muster" run --auto true
  [ "$status" = 125 ] && [[ "$output" == *'--auto: nothing here says'*'--hostfile'*'--local'* ]]
  run "$sidecar" --once --write "plain:$BATS_TEST_TMPDIR/hostfile"
  [ "$status" = 125 ] && [[ "$output" == *'no source: nothing here says'*'--hostfile'* ]]
  run "$sidecar" --once --local --write "plain:$BATS_TEST_TMPDIR/hostfile"
  [ "$status" = 125 ] && [[ "$output" == *'--local: this machine alone is no group'* ]]
  run "$muster" run --auto --dns train true
  [ "$status" = 125 ] && [[ "$output" == *'--auto and --dns train: the members come from one source'* ]]
}

@test "LeaderWorkerSet" {
  pods train-0,train-0-1,train-0-2 train --env LWS_LEADER_ADDRESS=train-0.train.default \
    --env LWS_GROUP_SIZE=3 --env 'LWS_WORKER_INDEX={index}'
  runs_on train-0 -- --events /tmp/events
  [ "$where" = train-0,train-0-1,train-0-2 ]
  [ "$line" = 'source: LeaderWorkerSet group train-0 of 3 (LWS_LEADER_ADDRESS)' ]
  in_pod train-0 grep '"event":"source"' /tmp/events |
    grep -qF '"members":3,"system":"LeaderWorkerSet","why":"LWS_LEADER_ADDRESS","index":0}'
  # the first members only; an option that names a source; this pod alone
  runs_on train-0-2 -- --members 2
  [ "$where" = train-0,train-0-1 ]
  runs_on train-0 -- --pods train-0-1.train
  [ "$where" = train-0-1 ] && [ -z "$line" ]
  runs_on train-0-1 -- --local
  [ "$where" = train-0-1 ] && [ -z "$line" ]
  # a dry run for programs, and the sidecar
  run --separate-stderr in_pod train-0-1 "$muster" roll --wait 10 --json
  [ "$status" = 0 ]
  grep -qF '"index": 1' <<<"$output"
  [ "$(grep -c '"address": "' <<<"$output")" = 3 ]
  in_pod train-0-1 "$sidecar" --once --by name --write plain:/tmp/hostfile
  [ "$(in_pod train-0-1 grep -c '^train-0' /tmp/hostfile)" = 3 ]
  # half of it
  run in_pod train-0 --env LWS_GROUP_SIZE= "$muster" run touch /tmp/started
  [ "$status" = 125 ]
  [[ "$output" == *'LWS_LEADER_ADDRESS is set and LWS_GROUP_SIZE is not'*'--local'* ]]
  ! in_pod train-0 test -e /tmp/started
}

@test "JobSet, Indexed Job, StatefulSet, TrainJob" {
  pods train-w-0-0,train-w-0-1,job-0,job-1,web-0,web-1,train-node-0-0,train-node-0-1 train
  runs_on train-w-0-1 --env JOB_COMPLETION_INDEX=1 -- --members 2
  [ "$where" = train-w-0-0,train-w-0-1 ]
  [ "$line" = 'source: JobSet train-w-0 of 2 (JOB_COMPLETION_INDEX)' ]
  runs_on job-0 --env JOB_COMPLETION_INDEX=0 -- --members 2
  [ "$where" = job-0,job-1 ]
  [ "$line" = 'source: Indexed Job job of 2 (JOB_COMPLETION_INDEX)' ]
  run in_pod job-0 --env JOB_COMPLETION_INDEX=0 "$muster" run true
  [ "$status" = 125 ] && [[ "$output" == *'give --members M'* ]]
  runs_on web-1 -- --members 2
  [ "$where" = web-0,web-1 ]
  [ "$line" = 'source: StatefulSet web of 2 (web-1.train)' ]
  runs_on web-1 -- # a name alone makes no group
  [ "$where" = web-1 ] && [[ "$line" == 'source: this machine; '*'--members M'* ]]
  run in_pod web-1 "$sidecar" --once --write plain:/tmp/hostfile
  [ "$status" = 125 ] && [[ "$output" == *'give --members M'* ]]
  runs_on train-node-0-0 --env JOB_COMPLETION_INDEX=0 --env PET_NNODES=2 \
    --env PET_NODE_RANK=0 --env PET_NPROC_PER_NODE=auto \
    --env PET_MASTER_ADDR=train-node-0-0.train --env PET_MASTER_PORT=29400 --
  [ "$where" = train-node-0-0,train-node-0-1 ]
  [ "$line" = 'source: TrainJob train-node-0 of 2 (PET_MASTER_ADDR)' ]
}

@test "MPIJob in its three forms, and its worker" {
  files mpi hostfile 'pi-worker-0.pi.default.svc slots=2\npi-worker-1.pi.default.svc slots=2\n'
  pods pi-launcher,pi-worker-0,pi-worker-1 pi --volume mpi:/etc/mpi
  runs_on pi-launcher --env K_MPI_JOB_ROLE=launcher \
    --env OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile --
  [ "$where" = pi-worker-0,pi-worker-1 ]
  [ "$line" = 'source: MPIJob hostfile /etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)' ]
  files mpi hostfile 'pi-worker-0.pi.default.svc:2\npi-worker-1.pi.default.svc:2\n'
  local name
  for name in I_MPI_HYDRA_HOST_FILE HYDRA_HOST_FILE; do
    run --separate-stderr in_pod pi-launcher --env K_MPI_JOB_ROLE=launcher \
      --env "$name=/etc/mpi/hostfile" "$muster" roll --wait 10
    [ "$status" = 0 ] && [[ "$stderr" == *"($name)"* ]]
    [ "$(awk '$2 == 2' <<<"$output" | wc -l)" = 2 ]
  done
  files mpi hostfile '' # what a worker's volume lacks
  rm "$BATS_TEST_TMPDIR/mpi/hostfile"
  "$podbox" volume put mpi "$BATS_TEST_TMPDIR/mpi" >/dev/null
  run in_pod pi-worker-0 --env K_MPI_JOB_ROLE=worker "$muster" roll --wait 10 --members 2
  [ "$status" = 0 ] && [[ "$output" == *'source: MPIJob pi-worker of 2 (K_MPI_JOB_ROLE)'* ]]
}

@test "Volcano, DeepSpeed, and both at once" {
  files svc worker.host 'lm-worker-0.lm\nlm-worker-1.lm' VC_WORKER_NUM 2 \
    VC_WORKER_HOSTS lm-worker-0.lm,lm-worker-1.lm
  pods lm-worker-0,lm-worker-1 lm --volume svc:/etc/volcano --env VC_WORKER_NUM=2 \
    --env VC_WORKER_HOSTS=lm-worker-0.lm,lm-worker-1.lm \
    --env 'VK_TASK_INDEX={index}' --env 'VC_TASK_INDEX={index}'
  runs_on lm-worker-1 --
  [ "$where" = lm-worker-0,lm-worker-1 ]
  [ "$line" = 'source: Volcano hostfile /etc/volcano/worker.host (task worker)' ]
  in_pod lm-worker-0 sh -c 'mkdir /job; echo "lm-worker-1.lm slots=1" >/job/hostfile'
  run in_pod lm-worker-0 "$muster" run true
  [ "$status" = 125 ]
  [[ "$output" == *'two systems name two groups here: Volcano '*', and DeepSpeed '* ]]
  files svc note ''
  rm "$BATS_TEST_TMPDIR/svc/"*.host
  "$podbox" volume put svc "$BATS_TEST_TMPDIR/svc" >/dev/null
  runs_on lm-worker-0 --env VC_WORKER_HOSTS= --env VC_TASK_INDEX= --env VK_TASK_INDEX= --
  [ "$where" = lm-worker-1 ]
  [ "$line" = 'source: DeepSpeed hostfile /job/hostfile (found there)' ]
}

waits_for() { grep -qF "$1" "$BATS_TEST_TMPDIR/err"; }

@test "case cfg-04: a hostfile that is replaced while the launcher waits is read once more" {
  files group hostfile 'a.ring\nz.ring\n'
  pods a,b ring --volume group:/etc/group-of-pods
  in_pod a "$muster" run --pmi none --ppn 1 --wait 25 --events /tmp/events \
    --hostfile /etc/group-of-pods/hostfile sh -c 'echo "$RANK $(hostname)"' \
    >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  local launcher=$! before after
  before=$(sha256sum <"$BATS_TEST_TMPDIR/group/hostfile" | cut -d' ' -f1)
  wait_for 20 waits_for 'z.ring: NXDOMAIN'
  files group hostfile 'b.ring\n'
  after=$(sha256sum <"$BATS_TEST_TMPDIR/group/hostfile" | cut -d' ' -f1)
  ends_within 20 "$launcher"
  [ "$code" = 0 ]
  [ "$(cat "$BATS_TEST_TMPDIR/out")" = '0 b' ]
  # each list is that of its read: two members before, one after
  in_pod a grep '"event":"members"' /tmp/events >"$BATS_TEST_TMPDIR/lists"
  [ "$(grep -cF "\"known\":2,\"found\":1,\"sha256\":\"$before\"" "$BATS_TEST_TMPDIR/lists")" -ge 1 ]
  grep -F "\"known\":1,\"found\":1,\"sha256\":\"$after\"" "$BATS_TEST_TMPDIR/lists"
  ! grep -vE "\"known\":(2,.*$before|1,.*$after)" "$BATS_TEST_TMPDIR/lists"
}

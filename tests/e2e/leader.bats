#!/usr/bin/env bats
# The launcher dies, freezes, or comes twice: the job has one launcher that commands, its ranks
# start once more, and what is done stays done.

setup() {
  load helper
  load muster
  load jobs
  jobs_setup
  job_options=(--job train/7 --on-failure restart --healthy 0 --grace 1 --orphan-grace 3 --link-grace 1)
}

teardown() { jobs_teardown; }

@test "musterd --lead: the launcher is killed, the ranks start once more, its code is musterd's; --rerun counts once" {
  pods_but_leader 4
  job_options=(--pods 'train-[0-3].train' --slots 1 --events /tmp/events)
  lead_job "$out" --rerun bash -c "$(ranks_until 2)"
  wait_for 60 ranks_running 4
  kill -KILL "$(launcher_pid train-0)"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c '^allreduce of 4: .* right' "$out")" = 5 ]
  grep -q 'ended with signal 9 (SIGKILL): started again' "$out"
  [ "$(lead grep -c '"event": *"claimed"' /tmp/events)" = 2 ] # both launchers' lines
  grep -q 'ended well at attempt 2, after 1 restart' "$out"
  wait_for 5 nothing_left 4
}

# thaws RUN-OPTION...: a frozen launcher beside the one that has taken over.
thaws() {
  agents_up 4
  run_job train-0 "$out" --pods 'train-[0-3].train' --slots 1 "$@" --events /tmp/events \
    bash -c "$(ranks_until 3)"
  first=$job
  wait_for 60 ranks_running 4
  frozen=$(launcher_pid train-0)
  kill -STOP "$frozen"
  run_job train-1 "$out.second" --pods 'train-[0-3].train' --slots 1 "$@" bash -c "$(ranks_until 3)"
  wait_for 60 ranks_running 4
  grep -q 'attempt 2 begins' "$out"
  before=$(for i in 0 1 2 3; do rank_pid "train-$i"; done)
  kill -CONT "$frozen"
  ends_within 20 "$first"
  [ "$code" = 125 ]
  grep -q '^muster: another launcher, on train-1, has taken job train/7 over (term 2' \
    "$BATS_TEST_TMPDIR/out"
  [ "$(for i in 0 1 2 3; do rank_pid "train-$i"; done)" = "$before" ]
  kill -KILL "$(rank_pid train-2)"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c '^allreduce of 4: .* right' "$out")" = 5 ]
  grep -q 'ended well at attempt 3, after 2 restarts' "$out"
  wait_for 5 nothing_left 4
}

@test "a launcher is frozen, another takes over, the first one thaws: it stands down (star)" { thaws; }

@test "a launcher is frozen, another takes over, the first one thaws: it stands down (tree)" {
  thaws --fanout 2
}

@test "a job that is done returns its code; --rerun, another program, an interrupt" {
  agents_up 2
  again() {
    run lead timeout 60 "$muster" run --job "$1" --pods 'train-[0-1].train' --slots 1 --pmi none \
      --grace 1 "${@:2}"
  }
  again good sh -c 'echo "rank $RANK attempt $MUSTER_ATTEMPT"'
  [ "$status" = 0 ]
  [ "$(grep -c 'attempt 1$' <<<"$output")" = 2 ]
  again good sh -c 'echo "rank $RANK attempt $MUSTER_ATTEMPT"'
  [ "$status" = 0 ]
  [[ $output == 'muster: job good is done: it ended with exit code 0 at attempt 1; nothing is run'* ]]
  again good --rerun sh -c 'echo "rank $RANK attempt $MUSTER_ATTEMPT"'
  [ "$status" = 0 ]
  [ "$(grep -c 'attempt 1$' <<<"$output")" = 2 ]
  again good echo other
  [ "$status" = 0 ]
  [ "$output" = $'other\nother' ]
  again bad sh -c 'exit 7'
  [ "$status" = 7 ]
  again bad sh -c 'exit 7'
  [ "$status" = 7 ]
  [[ $output == *'job bad is done: it ended with exit code 7 at attempt 1: rank '*' on train-'*'--rerun'* ]]

  job_options=(--job cut --pods 'train-[0-1].train' --slots 1 --pmi none --grace 1)
  run_job train-0 "$out" --events /tmp/events --output /tmp/o sh -c 'echo first; exec sleep 1000'
  wait_for 20 lead grep -q first /tmp/o/rank.1.out
  kill -TERM "$(launcher_pid train-0)"
  ends_within 20 "$job"
  [ "$code" = 143 ]
  again cut --output /tmp/o sh -c 'echo "rank $RANK attempt $MUSTER_ATTEMPT"'
  [ "$status" = 0 ]
  [ "$(lead cat /tmp/o/rank.1.out)" = $'first\nrank 1 attempt 2' ]
}

@test "a job's agents know the last term that there is: no launcher claims it, and the text says what helps" {
  agents_up 2
  claim() { lead timeout 20 "$MUSTER_BUILDDIR/tests/e2e/claimant" /etc/muster/ssh "$("$podbox" ip "train-$1")" full "$2" | grep -qx "$3"; }
  run_it() { run lead timeout 60 "$muster" run --job full --pods 'train-[0-1].train' --slots 1 --pmi none "$@" echo began; }
  wait_for 10 claim 1 4294967294 granted # once its agent listens
  claim 1 4294967293 denied
  run_it
  [ "$status" = 125 ]
  [[ $output == "muster: job full cannot be claimed: its agents know term 4294967294, the last one that there is; start its agents anew"* ]]
  run_it --rerun --adopt
  [ "$status" = 125 ]
  [[ $output != *began* ]]
  kill -KILL "$(agent_pid train-1)"
  agents train-1
  run_it
  [ "$status" = 0 ]
  [ "$output" = $'began\nbegan' ]
}

# halves RUN-OPTION...: no twin without --adopt, and the first launcher stands down.
halves() {
  agents_up 4
  run_job train-0 "$out" --pods 'train-[0-3].train' --slots 1 "$@" --events /tmp/events \
    bash -c "$(ranks_until 9)"
  first=$job
  wait_for 60 ranks_running 4
  for i in 0 1; do "$podbox" cut "train-$i"; done
  half='train-[2-3].train'
  run timeout 60 "$podbox" exec train-2 "$muster" run --job train/7 --wait 2 --pods "$half" --slots 1 "$@" \
    bash -c "$(ranks_until 9)"
  [ "$status" = 125 ]
  [[ $output == *'only 2 of the 4 positions that it had last are here, no majority: train-0'*'--adopt'* ]]
  run_job train-2 "$out.second" --adopt --pods "$half" --slots 1 "$@" bash -c "$(ranks_until 3)"
  wait_for 60 ranks_running 2
  for i in 0 1; do "$podbox" heal "train-$i"; done
  ends_within 30 "$first"
  [ "$code" = 125 ]
  grep -q '^muster: another launcher, on train-2, has taken job train/7 over' "$BATS_TEST_TMPDIR/out"
  for i in 0 1; do wait_for 10 eval "[ -z \"\$(rank_pid train-$i)\" ]"; done
  [ -n "$(rank_pid train-2)" ]
  kill -KILL "$(rank_pid train-3)"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  wait_for 5 nothing_left 4
}

@test "the group is cut into halves: no twin without --adopt (star)" { halves; }

@test "the group is cut into halves: no twin without --adopt (tree)" { halves --fanout 1; }

@test "two launchers begin the same job at once: one runs it, the other stands down" {
  agents_up 4
  local i pids=() codes=() first=$out
  for i in 0 1; do
    run_job "train-$i" "$first.$i" --pods 'train-[0-3].train' --slots 1 --pmi none --fanout 2 \
      sh -c 'until [ -e /tmp/stop ]; do sleep 0.05; done; echo "done $RANK"'
    pids[i]=$job
  done
  wait_for 20 eval 'gone ${pids[0]} || gone ${pids[1]}'
  for i in 0 1 2 3; do "$podbox" exec "train-$i" touch /tmp/stop; done
  for i in 0 1; do
    ends_within 30 "${pids[i]}"
    codes[i]=$code
  done
  [ "$(printf '%s\n' "${codes[@]}" | sort -n | xargs)" = '0 125' ]
  [ "$(cat "$first".[01] | grep '^done' | sort | xargs)" = 'done 0 done 1 done 2 done 3' ]
  [ "$(cat "$first".[01] | grep -c 'has taken job train/7 over.*stands down')" = 1 ]
}

@test "the leader's pod is replaced: its musterd --lead takes the job over" {
  pods_but_leader 3
  job_options=(--pods 'train-[0-2].train' --slots 1 --events /tmp/events)
  lead_job "$out" bash -c "$(ranks_until 2)"
  wait_for 60 ranks_running 3
  "$podbox" replace train-0
  wait "$job" || true
  lead_job "$out.second" bash -c "$(ranks_until 2)"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ "$(grep -c '^allreduce of 3: .* right' "$out")" = 5 ]
  grep -q 'taken over from the launcher on train-0' "$out"
  grep -q 'ended well at attempt 2, after 1 restart' "$out"
  wait_for 5 nothing_left 3
  # Kubernetes starts the leader's container again: the others remember that it is done.
  lead_job "$out" bash -c "$(ranks_until 2)"
  ends_within 20 "$job"
  [ "$code" = 0 ]
  grep -q 'job train-0 is done: it ended with exit code 0 at attempt 2' "$out"
}

@test "musterd --lead gets SIGTERM: the ranks end with their grace, then it does" {
  pods_but_leader 2
  job_options=(--pods 'train-[0-1].train' --slots 1 --pmi none)
  lead_job "$out" \
    bash -c 'trap "echo saved; exit 0" TERM; echo "rank $RANK pid $$"; while :; do sleep 0.05; done'
  wait_for 20 ranks_running 2
  kill -TERM "$(pids_of train-0 'musterd --lead' timeout | head -1)"
  ends_within 20 "$job"
  [ "$code" = 143 ]
  [ "$(grep -c '^saved$' "$out")" = 2 ]
  wait_for 5 nothing_left 2
}

@test "musterd --lead: what it refuses, and the codes it passes on" {
  run -125 timeout 20 "$musterd" --lead
  [[ $output == *'--lead: which launcher?'* ]]
  run -125 timeout 20 "$musterd" "$muster" run true
  [[ $output == *'musterd takes options only, but for the launcher'* ]]
  run -125 timeout 20 "$muster" run --job x true
  [[ $output == *'--job needs agents that stay'* ]]
  run -125 timeout 20 "$muster" run --rerun --host 127.0.0.1 true
  [[ $output == *'--rerun: which job? give --job KEY'* ]]
  run -125 timeout 20 "$muster" run --job 'a b' --host 127.0.0.1 true
  [[ $output == *"--job 'a b': give 1 to 128"* ]]
  "$muster" keygen "$BATS_TEST_TMPDIR/key" >/dev/null
  run -7 timeout 20 "$musterd" --key "$BATS_TEST_TMPDIR/key" --listen 127.0.0.1:0 --lead -- sh -c 'exit 7'
  run -7 timeout 20 "$musterd" --key "$BATS_TEST_TMPDIR/key" --listen 127.0.0.1:0 \
    --lead="$(uname -n)" -- sh -c 'exit 7'
  run -125 timeout 20 "$musterd" --lead= -- "$muster" run true
  [[ $output == *'--lead=: which pod?'* ]]
  run -127 timeout 20 "$musterd" --key "$BATS_TEST_TMPDIR/key" --listen 127.0.0.1:0 --lead -- /no/such/muster
  [[ $output == *'cannot start /no/such/muster'* ]]
}

@test "musterd --lead=POD: one command for all pods, and only that pod leads" {
  pods_up 2
  "$podbox" exec train-1 -d "$musterd" --lead=train-0 -- "$muster" run --pods 'train-[0-1].train' true
  run -0 lead timeout 60 "$musterd" --lead=train-0 -- "$muster" run --pods 'train-[0-1].train' \
    --slots 1 --pmi none sh -c 'echo "at $MUSTER_HOST"'
  [ "$(grep -c '^at ' <<<"$output")" = 2 ]
  wait_for 5 grep -q 'pod train-1 waits for the launcher of train-0' "/run/podbox/$PODBOX_BED/pods/train-1/log"
}

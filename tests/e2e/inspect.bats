#!/usr/bin/env bats
# Members are inspected before an attempt: who fails its check is reported, gets no ranks, and a spare or
# another pod takes its position; `muster check` tells of all of them. Second failures meanwhile
# are faults.bats'.

setup() {
  load helper
  load muster
  load jobs
  jobs_setup
  job_options=(--on-failure restart --healthy 0 --grace 1 --orphan-grace 2 --link-grace 1 --pmi none --slots 1
    --events /tmp/events)
}

teardown() { jobs_teardown; }

# checks_up N: pods and agents, and a check in all of them: it counts itself, and does what its pod's
# /tmp/plan says.
checks_up() {
  agents_up "$1"
  cat >"$BATS_TEST_TMPDIR/cm/check" <<'END'
echo "$MUSTER_MEMBER" >>/tmp/checked
case $(cat /tmp/plan 2>/dev/null) in
  fail) echo '{"check": "plan", "verdict": "fail", "why": "planted fault", "address": "0x7f"}'; exit 1 ;;
  hang) setsid sleep 1234 & exec sleep 1234 ;;
  wait) until [ -e /tmp/go ]; do sleep 0.05; done; echo "{\"check\": \"plan\", \"verdict\": \"$(cat /tmp/go)\"}"
    grep -q pass /tmp/go ;;
  junk) echo 'no driver here' >&2; echo '{"check": '; exit 3 ;;
  *) echo '{"check": "plan", "verdict": "pass", "seconds": 0.5}' ;;
esac
END
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
}

check=(--check-command 'sh /etc/muster/group/check' --check-timeout 8)
plan() { "$podbox" exec "train-$1" sh -c "echo $2 >/tmp/plan"; }
go() { "$podbox" exec "train-$1" sh -c "echo $2 >/tmp/verdict; mv /tmp/verdict /tmp/go"; }
checked() { [ "$("$podbox" exec "train-$1" sh -c 'cat /tmp/checked 2>/dev/null | wc -l')" = "$2" ]; }
state_is() { lead grep '"state"' /tmp/events | tail -1 | grep -q "\"to\":\"$1\""; }

@test "before the ranks start: who fails gives its position to a spare; a replacement that hangs gets none" {
  checks_up 4
  lead sh -c 'printf "#!/bin/sh\necho \$MUSTER_MEMBER in \$MUSTER_ATTEMPT: \$MUSTER_REASON\n" >/tmp/hook; chmod +x /tmp/hook'
  plan 1 fail
  start 0-3 --spares 1 --check before,replacement "${check[@]}" --replace-hook /tmp/hook
  at 1 train-{0,3,2}
  for i in 0 1 2 3; do checked "$i" 1; done
  grep -q '^muster: warning: member train-1.train .* is not fit for ranks: check plan: planted fault$' "$out"
  lead grep '"inspected"' /tmp/events | grep '"member":"train-1.train"' |
    grep '"attempt":1,' | grep '"verdict":"fail","why":"planted fault"' | grep -q '"evidence":{"address":"0x7f"}'
  wait_for 10 grep -q 'replace-hook: /tmp/hook: train-1.train in 1: it is not fit for ranks: check plan: planted fault' "$out"
  lead "$muster" status | grep -qE '^ *- +train-1\.train .* leaves .* it is not fit for ranks: check plan: planted fault'
  "$podbox" replace train-1
  plan 1 hang
  agents train-1
  wait_for 30 attached train-1 2
  kill -KILL "$(script_pid train-2)"
  at 2 train-{0,3,2}
  checked 1 1
  checked 0 1 # was there before
  grep -q '^muster: warning: member train-1.train .* is not fit for ranks: check sh: it did not end within 8 s' "$out"
  [ -z "$(pids_of train-1 'sleep 1234')" ]
  end_at 2 train-{0,3,2}
  grep -q '^muster: ended well at attempt 2, after 1 restart' "$out" # the inspections cost none
}

@test "after a failure: without a spare another pod is awaited; one that cannot be inspected is taken" {
  checks_up 3
  start 0-2 --check on-failure "${check[@]}"
  at 1 train-{0,1,2}
  checked 0 0
  plan 1 fail
  plan 2 junk
  kill -KILL "$(script_pid train-0)"
  wait_for 30 state_is muster
  wait_for 30 grep -q '^muster: warning: attempt 2 waits for train-1.train .* not fit for ranks' "$out"
  grep -q '^muster: warning: member train-2.train .*: it was taken without check sh: it did not print one JSON object (exit code 3): no driver here$' "$out"
  "$podbox" replace train-1
  agents train-1
  at 2 train-{0,1,2}
  for i in 0 1 2; do checked "$i" 1; done # the new pod by itself
  end_at 2 train-{0,1,2}
  grep -q '^muster: ended well at attempt 2, after 1 restart' "$out"
}

@test "without restarts the job ends before it begins, and names the node; wrong options are one line" {
  checks_up 2
  plan 1 fail
  run -125 lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 --check before "${check[@]}" echo began
  [[ $output == *'muster: member train-1.train ('*') is not fit for ranks: check plan: planted fault; look at its node'* ]]
  [[ $output != *began* ]]
  refused() {
    local text=$1
    shift
    run -125 "$muster" run --host a:1 "$@" true
    [[ $output == *"$text"* ]]
  }
  refused "--check soon: 'soon' is none of before, on-failure, replacement" --check soon
  refused '--check on-failure,replacement is about restarts: give --on-failure restart' --check replacement
  refused '--check-timeout is about inspections: give --check with it' --check-timeout 3
  refused "--check-command ' ': which program?" --check before --check-command ' '
  refused '--check-timeout 0: give seconds, above 0' --check before --check-timeout 0
}

@test "installed checks are found beside musterd, and told how long they have" {
  local at=$BATS_TEST_TMPDIR/usr name
  mkdir -p "$at/bin" "$at/sbin" "$at/libexec/muster"
  cp "$muster" "$at/bin/muster"
  cp "$musterd" "$at/sbin/musterd"
  run -2 "$at/bin/muster" check --local
  [[ $output == *'no checks are installed beside musterd'* ]]
  for name in cpucheck gpucheck; do
    printf '#!/bin/sh\necho "{\\"check\\": \\"%s\\", \\"verdict\\": \\"pass\\", \\"why\\": \\"$*\\"}"\n' $name \
      >"$at/libexec/muster/$name"
    chmod +x "$at/libexec/muster/$name"
  done
  run -0 timeout 60 "$at/bin/muster" check --local
  [[ $output == *' cpucheck  pass '*' --deadline 8'$'\n'*' gpucheck  pass '*' --deadline 8'$'\n'* ]]
  run -0 timeout 60 "$at/bin/muster" check --local --full --check-timeout 30
  [[ $output == *' --deadline 27 --memory 50%'$'\n'*' --deadline 27'$'\n'* ]]
}

@test "muster check: on a machine without GPUs their checks do not count, unless some are expected" {
  ! compgen -G '/dev/nvidia*' >/dev/null || skip "there is a GPU"
  local checks=(--check-command nvprobe --check-command 'cpucheck --memory 8M --rounds 1 --deadline 50')
  run -0 timeout 120 "$muster" check --local "${checks[@]}"
  [[ $output == *' nv '*' not-here '*' no NVIDIA device is here'*' cpu '*' pass '*'1 of 1 member passed' ]]
  run -1 env MUSTER_CHECK_GPUS=4 timeout 120 "$muster" check --local "${checks[@]}"
  [[ $output == *'no NVIDIA device is here, and 4 should be'* ]]
  run -2 timeout 60 "$muster" check --local --check-command nvprobe
}

@test "muster check: a table, JSON and the exit code; a member that is not there; ranks are left alone" {
  checks_up 3
  local pods=(--pods 'train-[0-2].train' --no-pairs)
  run -0 lead timeout 60 "$muster" check "${pods[@]}" "${check[@]}"
  [ "$(grep -c '^train-[0-2].train .* plan *pass *0.5 *-$' <<<"$output")" = 3 ]
  [[ $output == *'3 of 3 members passed' ]]
  plan 1 fail
  plan 2 junk
  run -1 lead timeout 60 "$muster" check "${pods[@]}" "${check[@]}" --fanout 1
  grep -qE '^train-1.train .* plan +fail .* planted fault$' <<<"$output"
  [[ $output == *'1 of 3 members passed, 1 failed (train-1.train), 1 could not be inspected (train-2.train)' ]]
  run -1 --separate-stderr lead timeout 60 "$muster" check --json "${pods[@]}" "${check[@]}"
  python3 -c 'import json, sys
r = json.load(sys.stdin)
assert r["verdict"] == "fail" and [m["verdict"] for m in r["members"]] == ["pass", "fail", "could-not-run"]
assert r["members"][1]["checks"][0]["evidence"] == {"address": "0x7f"}' <<<"$output"
  kill -KILL "$(agent_pid train-1)"
  run -2 lead timeout 60 "$muster" check "${pods[@]}" "${check[@]}" --wait 1
  grep -qE '^train-1.train .* could-not-run .* refused' <<<"$output"
  start 0-0
  at 1 train-0
  run -2 lead timeout 60 "$muster" check --pods 'train-[0-0].train' "${check[@]}"
  [[ $output == *'ranks of job '*' run in its pod'* ]]
  checked 0 4
  end_at 1 train-0
}

# another_check: of train-0, by a second job, in the background, as $other, with its output in $out.other.
another_check() {
  lead timeout 60 "$muster" check --pods 'train-[0-0].train' "${check[@]}" --check-timeout 50 >"$out.other" 2>&1 3>&- &
  other=$!
}

@test "jobs beside each other: one inspection at a time, none beside ranks, and it kills what is its own alone" {
  checks_up 2
  kill -KILL "$(agent_pid train-0)"
  "$podbox" exec train-0 -d sh -c 'sleep 4321 & exec "$0"' "$musterd" # as an ssh client's daemon is below it
  plan 0 hang
  another_check
  wait_for 30 checked 0 1
  run -2 lead timeout 60 "$muster" check --pods 'train-[0-0].train' "${check[@]}"
  [[ $output == *'an inspection of job '*' is under way in its pod'* ]]
  start 0-1 --spares 1
  at 1 train-0
  [ -z "$(pids_of train-0 'sleep 1234')" ]
  [ -n "$(pids_of train-0 'sleep 4321')" ]
  ends_within 30 "$other"
  [ "$code" = 2 ]
  grep -q 'ranks of job .* are prepared in its pod' "$out.other"
  run -0 lead timeout 60 "$muster" check --pods 'train-[1-1].train' "${check[@]}" # a spare: no rank is there
  end_at 1 train-0
}

@test "a world that ranks spawn waits until another job's check in the pod has ended" {
  local inspector
  checks_up 2
  plan 1 hang
  lead timeout 60 "$muster" check --pods 'train-[1-1].train' "${check[@]}" --check-timeout 50 >"$out.other" 2>&1 3>&- &
  other=$!
  wait_for 30 checked 1 1
  inspector=$(pids_of train-1 'musterd inspector')
  kill -STOP "$inspector" # so that the check does not end
  lead timeout 60 "$muster" run --pods 'train-[0-1].train' --slots 1 -n 1 "$mpi/spawn" 1 >"$out" 2>&1 3>&- &
  job=$!
  wait_for 30 eval '"$podbox" logs train-1 | grep -q "PREPARE waits until ranks and checks of before have ended"'
  [ -n "$(pids_of train-1 'sleep 1234')" ]
  [ -z "$(pids_of train-1 'mpi/spawn')" ]
  kill -CONT "$inspector"
  ends_within 30 "$job"
  [ "$code" = 0 ]
  grep -q '^child 0 of 1 on train-1' "$out"
  [ -z "$(pids_of train-1 'sleep 1234')" ]
  ends_within 30 "$other"
  [ "$code" = 2 ]
}

# take_over ATTEMPT RUN-OPTION...: the launcher is killed, and the next one begins; out is its output.
take_over() {
  kill_launcher
  out=$BATS_TEST_TMPDIR/out.$1
  start 0-3 "${@:2}"
}

@test "a launcher that takes over inspects whom nobody has looked at, and nobody else" {
  local options=(--job inspected --spares 1 --check replacement "${check[@]}" --check-timeout 50)
  checks_up 4
  start 0-3 "${options[@]}"
  at 1 train-{0,1,2}
  take_over 2 "${options[@]}"
  at 2 train-{0,1,2}
  for i in 0 1 2 3; do checked "$i" 0; done
  "$podbox" replace train-3
  wait_for 30 lost train-3 1
  "$podbox" replace train-1
  plan 1 wait
  agents train-1
  wait_for 30 checked 1 1
  agents train-3 # while another one is inspected
  wait_for 30 attached train-3 3 # by two launchers before
  go 1 pass
  at 3 train-{0,1,2}
  checked 3 0
  take_over 4 "${options[@]}"
  at 4 train-{0,1,2}
  checked 3 1
  take_over 5 "${options[@]}"
  at 5 train-{0,1,2}
  for i in 1 3; do checked "$i" 1; done # the record says so
  for i in 0 2; do checked "$i" 0; done
  end_at 5 train-{0,1,2}
}

@test "who comes while others are inspected is inspected before it has ranks, be it a spare now" {
  checks_up 3
  start 0-2 --spares 1 --check replacement "${check[@]}" --check-timeout 50
  at 1 train-{0,1}
  "$podbox" replace train-2
  wait_for 30 lost train-2 1
  "$podbox" replace train-1
  plan 1 wait
  agents train-1
  wait_for 30 checked 1 1
  agents train-2
  wait_for 30 attached train-2 2
  go 1 pass
  at 2 train-{0,1}
  checked 2 0
  kill -KILL "$(script_pid train-1)"
  wait_for 30 checked 2 1
  at 3 train-{0,2}
  "$podbox" replace train-1
  wait_for 30 lost train-1 2
  "$podbox" replace train-2
  plan 2 wait
  agents train-2
  wait_for 30 checked 2 1
  agents train-1
  wait_for 30 attached train-1 3
  go 2 fail
  at 4 train-{0,1}
  checked 1 1
  grep -q '^muster: warning: attempt 4 waits for the inspection of train-1.train' "$out"
  end_at 4 train-{0,1}
}

@test "tree: who is not fit has nobody below it, if a spare can have its place there" {
  checks_up 7
  plan 1 fail
  start 0-6 --fanout 2 --spares 1 --check before "${check[@]}"
  at 1 train-{0,6,2,3,4,5}
  "$podbox" kill train-1
  wait_for 30 lost train-1 1
  end_at 1 train-{0,6,2,3,4,5}
}

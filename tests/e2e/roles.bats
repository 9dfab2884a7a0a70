#!/usr/bin/env bats
# Roles: several programs, each with members, a world, a leader and restarts of its own, that
# know where the others are.

setup() {
  load helper
  load muster
  cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
  [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 40 ./*.out || true
  bed_teardown
}

here() { run --separate-stderr timeout 60 "$muster" run --pmi none "$@"; }

# roles FILE EXPRESSION: of a role file's `r`, its roles.
roles() { python3 -c "import json, sys; r = json.load(open(sys.argv[1]))['roles']; print($2)" "$1"; }

# ---- on this machine --------------------------------------------------------------------

@test "each role has a world of its own, and its ranks know the others" {
  here --tag-output -x A=1 --role prefill -n 2 sh -c 'echo $RANK/$WORLD_SIZE $A $MUSTER_ROLE $MASTER_PORT' \
    : --role decode -n 1 -x A=2 sh -c 'echo $RANK/$WORLD_SIZE $A $MUSTER_ROLES $MUSTER_ROLE_ADDRS_PREFILL; cp $MUSTER_ROLE_FILE seen'
  [ "$status" = 0 ]
  [ -z "$(grep -v '<stdout>: ' <<<"$output")" ]
  [ "$(grep -c '^\[prefill\.[01]\]<stdout>: [01]/2 1 prefill [0-9]*$' <<<"$output")" = 2 ]
  grep -qxF '[decode.0]<stdout>: 0/1 2 prefill,decode 127.0.0.1' <<<"$output"
  [ "$(roles seen 'sorted(r), r["prefill"]["leader"], len(r["prefill"]["members"])')" = "['decode', 'prefill'] 127.0.0.1 1" ]
}

@test "what roles cannot have, and roles that are not said right, are one clear error" {
  here --role a -n 1 true : -n 1 true
  [ "$status" = 125 ]
  [ "$stderr" = 'muster run: 1 of 2 programs have a --role: give one to each, or to none' ]
  here --role a true : --role a true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--role a is there twice'* ]]
  here --role 1st true
  [ "$status" = 125 ]
  [[ "$stderr" == *"--role '1st': give a letter, then"* ]]
  here --restart-scope job true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--restart-scope is about roles'* ]]
  here --restart-scope job --role a true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--restart-scope is about restarts: give --on-failure restart'* ]]
  here --role-signal FOO --role a true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--role-signal FOO: give the name or number of a signal that a program can catch'* ]]
  here --on-failure restart --role-signal KILL --role a true : --role b true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--role-signal KILL: give '* ]]
  here --role Prefill true : --role prefill true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--role prefill is there twice'* ]]
  here --status 65535 --role a true : --role b true
  [ "$status" = 125 ]
  [ "$stderr" = 'muster run: --status 65535: role number 2 would have port 65536: give a lower one' ]
  here --role a -n 1 true : --role b -n 3 --grid tp=2 true
  [ "$status" = 125 ]
  [ "$stderr" = 'muster run: --role b: -n is 3, but --grid has tp 2 x pp 1 x dp 1 = 2 ranks: leave out -n, or change a size' ]
  here --per-node --role a -n 1 true : --role b --grid tp=2 true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--grid places ranks, and --per-node starts one command on each member'* ]]
  here -n 1 true : -n 2 --grid tp=2 true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--grid of true: programs without roles are one world, which has one: give it before the first program'* ]]
  here --role a -n 1 true : --role b --spares 1 -n 1 true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--spares is about restarts: give --on-failure restart with it'* ]]
  here --dns train --members 2 --per-node --role a -n 1 true : --role b true
  [ "$status" = 125 ]
  [[ "$stderr" == *'roles need a source that names its members in their order: give --pods or a hostfile instead of --dns'* ]]
  here --stdin none --role a true
  [ "$status" = 125 ]
  [[ "$stderr" == *'--stdin reaches no role: leave it out'* ]]
  here --host a,b --role a -n 1 true : --role b true
  [ "$status" = 125 ]
  [[ "$stderr" == *'give --per-node, --ppn K or --slots K'* ]]
}

@test "each role has a grid of its own, or none, whatever the first one has" {
  local place='echo $MUSTER_ROLE $RANK/$WORLD_SIZE ${TP_RANK-no}${PP_RANK-} ${DP_SIZE-grid}'
  here --role a --grid tp=2,pp=2 sh -c "$place" : --role b -n 1 sh -c "$place" : --role c --grid dp=2 -n 2 sh -c "$place"
  [ "$status" = 0 ]
  [ "$(sort <<<"$output")" = 'a 0/4 00 1
a 1/4 10 1
a 2/4 01 1
a 3/4 11 1
b 0/1 no grid
c 0/2 00 2
c 1/2 00 2' ]
}

@test "a role that fails ends the run with its code, the others are stopped" {
  here --role a -n 1 sh -c 'until [ -e up ]; do sleep 0.05; done; exit 3' : --role b -n 1 sh -c 'touch up; exec sleep 4321.5'
  [ "$status" = 3 ]
  [[ "$stderr" == *'muster: role a: rank 0 on '*'exit code 3'*'muster: role a ended with exit code 3: the other roles are stopped'* ]]
  [ -z "$(pgrep -f 'sleep 4321.5')" ]
  run -127 timeout 60 "$muster" run --role a -n 1 no-such-program : --role b -n 1 sleep 4321.5
}

# start_sleepers: two roles in the background; sets launcher.
start_sleepers() {
  "$muster" run --pmi none --role a -n 1 sh -c "echo up; exec sleep 4$1.5" : --role b -n 1 sh -c "echo up; exec sleep 4$1.5" \
    >a.out 2>&1 3>&- &
  launcher=$!
  wait_for 30 eval '[ "$(grep -c up a.out)" = 2 ]'
}

@test "SIGTERM stops all roles; without the launcher of all, none stays" {
  start_sleepers 322
  kill -TERM "$launcher"
  ends_within 30 "$launcher"
  [ "$code" = 143 ]
  [ -z "$(pgrep -f 'sleep 4322.5')" ]
  start_sleepers 323
  kill -KILL "$launcher"
  wait_for 30 eval '[ -z "$(pgrep -f "sleep 4323.5")" ]'
  wait "$launcher" || true
}

@test "--restart-scope: the role alone, or all of them" {
  local scope
  for scope in role job; do
    rm -f up
    here --on-failure restart --healthy 0 --grace 1 --restart-scope $scope \
      --role a -n 1 sh -c 'echo a $MUSTER_ATTEMPT; until [ -e up ]; do sleep 0.05; done; [ $MUSTER_ATTEMPT = 2 ] || exit 3; touch end' \
      : --role b -n 1 sh -c 'echo b $MUSTER_ATTEMPT; touch up
        until [ -e end ]; do sleep 0.05; done'
    [ "$status" = 0 ]
    case $scope in
      role) [ "$(sort <<<"$output" | paste -sd,)" = 'a 1,a 2,b 1' ] ;;
      job)
        [[ "$stderr" == *'role b: warning: attempt 1 failed: role a starts again, and all others with it (--restart-scope job)'* ]]
        [ "$(grep -c '^a' <<<"$output")" = 2 ]
        ;;
    esac
    rm -f end
  done
}

# fails_beside ROLE OTHER CODE: a rank that fails in attempt 1 when the other role's is up, and then ends well when
# the other's is up again.
fails_beside() {
  echo "echo $1 \$MUSTER_ATTEMPT; touch $1.\$MUSTER_ATTEMPT
    [ \$MUSTER_ATTEMPT != 1 ] || { until [ -e $2.1 ]; do sleep 0.05; done; exit $3; }
    until [ -e $2.2 ]; do sleep 0.05; done"
}

@test "--restart-scope job: two roles fail at once, and do not restart each other for ever" {
  here --on-failure restart --healthy 0 --grace 1 --restart-scope job \
    --role a -n 1 sh -c "$(fails_beside a b 3)" : --role b -n 1 sh -c "$(fails_beside b a 4)"
  echo "$output" "$stderr"
  [ "$status" = 0 ]
  local role
  for role in a b; do
    [ "$(grep "^$role" <<<"$output" | paste -sd,)" = "$role 1,$role 2" ]
  done
  [ "$(grep -c 'warning: .* starts again, and all others with it' <<<"$stderr")" -le 1 ]
}

# ---- on pods ----------------------------------------------------------------------------

# What a node of a role runs: it writes down what it was started with, and what the role file
# says each time that it is signalled.
make_server() {
  cat >"$shared/server" <<'END'
#!/bin/bash
to=${0%/*}/records/$MUSTER_ROLE.$MUSTER_NODE_RANK
trap 'cp "$MUSTER_ROLE_FILE" "$to.part"; mv "$to.part" "$to.signalled"' USR1
cp "$MUSTER_ROLE_FILE" "$to.$MUSTER_ATTEMPT.roles"
echo "$* $MASTER_PORT $MUSTER_ROLE_ADDRS_PREFILL $MUSTER_ROLE_ADDRS_DECODE" >"$to.part"
mv "$to.part" "$to.$MUSTER_ATTEMPT"
until [ -e "${0%/*}/end" ]; do sleep 0.1; done
END
  chmod +x "$shared/server"
}

started() { # ROLE ATTEMPT
  [ -e "$shared/records/$1.0.$2" ] && [ -e "$shared/records/$1.1.$2" ]
}

# told ROLE NODE EXPRESSION WANTED: what its role file said with the last signal.
told() {
  roles "$shared/records/$1.$2.signalled" "$3" >told.out
  [ "$(roles "$shared/records/$1.$2.signalled" "$3")" = "$4" ]
}

attempts_are() { [ "$(grep -c "^[ab][01] attempt $1$" "$BATS_TEST_TMPDIR/lead.out")" = "$2" ]; }

@test "musterd --lead: a role's launcher is killed, then that of all while a role waits: both go on" {
  bed_setup
  local i say='echo "$MUSTER_ROLE$RANK attempt $MUSTER_ATTEMPT"; [ "$MUSTER_ATTEMPT" = 3 ] || exec sleep 1000'
  pods_up 4
  for i in 1 2 3; do "$podbox" exec "train-$i" -d "$musterd"; done
  lead timeout 120 "$musterd" --lead -- "$muster" run --on-failure restart --healthy 0 --grace 1 --orphan-grace 2 --link-grace 1 \
    --pods 'train-[1-3].train' --slots 1 --role a -n 1 bash -c "$say" : --role b -n 2 bash -c "$say" >lead.out 2>&1 3>&- &
  job=$!
  wait_for 60 attempts_are 1 3
  kill -KILL "$(pids_of train-0 'role-part 1,' | head -1)"
  wait_for 60 attempts_are 2 3
  kill -KILL "$(pids_of train-3 'musterd$' | head -1)"
  wait_for 20 grep -q 'role b: warning: attempt 2 failed' lead.out
  kill -KILL "$(pids_of train-0 'muster run' 'role-part|lead' | head -1)"
  wait_for 20 eval '[ "$(grep -c "started again" lead.out)" = 2 ]'
  "$podbox" exec train-3 -d "$musterd"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  attempts_are 3 3
}

@test "prefill and decode on 4 pods: a pod of one is replaced, the other runs on and is told where it is now" {
  bed_setup
  shared=$BATS_TEST_TMPDIR/shared
  mkdir -p "$shared/records"
  make_server
  agents_up 5 --share "$shared"
  "$podbox" exec train-4 timeout 120 "$muster" run --on-failure restart --healthy 0 --grace 1 --pods 'train-[0-3].train' \
    --per-node --fanout 1 --role-signal USR1 --role prefill -n 2 "$shared/server" '{node_rank}/{nnodes}' '{leader_addr}' '{local_addr}' \
    : --role decode "$shared/server" '{node_rank}/{nnodes}' '{leader_addr}' '{local_addr}' >roles.out 2>&1 3>&- &
  job=$!
  wait_for 60 started prefill 1
  wait_for 60 started decode 1
  local i port
  for i in 0 1 2 3; do ip[i]=$("$podbox" ip "train-$i"); done
  read -r _ _ _ port _ <"$shared/records/decode.1.1"
  [ "$(cat "$shared/records/decode.1.1")" = "1/2 ${ip[2]} ${ip[3]} $port ${ip[0]},${ip[1]} ${ip[2]},${ip[3]}" ]
  [ "$(roles "$shared/records/prefill.0.1.roles" '[m["address"] for m in r["decode"]["members"]]')" = "['${ip[2]}', '${ip[3]}']" ]
  [ ! -e "$shared/records/prefill.0.signalled" ] # nothing has changed yet
  # a worker of decode
  "$podbox" replace train-3
  "$podbox" exec train-3 -d "$musterd"
  wait_for 60 started decode 2
  ip[3]=$("$podbox" ip train-3)
  for i in 0 1; do
    wait_for 30 told prefill $i '[m["address"] for m in r["decode"]["members"]]' "['${ip[2]}', '${ip[3]}']"
    told prefill $i 'r["decode"]["attempt"], r["decode"]["state"], r["prefill"]["attempt"]' "2 running 1"
  done
  read -r _ _ _ port _ <"$shared/records/decode.0.2"
  # its own place is known to it at once
  [ "$(cat "$shared/records/decode.1.2")" = "1/2 ${ip[2]} ${ip[3]} $port ${ip[0]},${ip[1]} ${ip[2]},${ip[3]}" ]
  told prefill 1 'r["decode"]["port"]' "$port"
  # the leader of prefill
  "$podbox" replace train-0
  "$podbox" exec train-0 -d "$musterd"
  wait_for 60 started prefill 2
  ip[0]=$("$podbox" ip train-0)
  wait_for 30 told decode 0 'r["prefill"]["leader"]' "${ip[0]}"
  grep "^0/2 ${ip[0]} ${ip[0]} .* ${ip[0]},${ip[1]} ${ip[2]},${ip[3]}$" "$shared/records/prefill.0.2" ||
    { head "$shared"/records/*; return 1; }
  touch "$shared/end"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ ! -e "$shared/records/decode.0.3" ] # decode was not restarted
  wait_for 10 nothing_left 4
}

# page PORT: the members of the job that is served there.
page() {
  "$podbox" exec train-3 curl -s --max-time 10 "http://127.0.0.1:$1/status" |
    python3 -c 'import json, sys; print(*(m["name"] for m in json.load(sys.stdin)["members"]))'
}

@test "a role's own spare takes a lost pod's place, the other role is told; each role has its pages" {
  bed_setup
  shared=$BATS_TEST_TMPDIR/shared
  mkdir -p "$shared/records"
  make_server
  agents_up 4 --share "$shared"
  "$podbox" exec train-3 timeout 120 "$muster" run --on-failure restart --healthy 0 --grace 1 --pods 'train-[0-2].train' \
    --per-node --status 7900 --role-signal USR1 --role decode -n 1 --spares 1 "$shared/server" '{local_addr}' \
    : --role prefill "$shared/server" '{local_addr}' >spares.out 2>&1 3>&- &
  job=$!
  wait_for 60 test -e "$shared/records/decode.0.1"
  wait_for 60 test -e "$shared/records/prefill.0.1"
  [ "$(page 7900)" = 'train-0.train train-1.train' ]
  [ "$(page 7901)" = train-2.train ]
  local spare
  spare=$("$podbox" ip train-1)
  "$podbox" kill train-0
  wait_for 60 test -e "$shared/records/decode.0.2"
  grep -q "^$spare " "$shared/records/decode.0.2"
  wait_for 30 told prefill 0 'r["decode"]["leader"], r["decode"]["attempt"]' "$spare 2"
  touch "$shared/end"
  ends_within 60 "$job"
  [ "$code" = 0 ]
  [ ! -e "$shared/records/prefill.0.2" ]
}

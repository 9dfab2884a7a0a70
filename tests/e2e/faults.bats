#!/usr/bin/env bats
# What can fail, in a star and in a tree of fan-out 2, depth 3. Each test is a job in each shape that
# goes through its faults one by one; after each of them `clean` (faults.bash) holds, and at the
# end the result is that of an undisturbed run. tests/FAULTS.md says which fault is tested where,
# and what is struck with MUSTER_LONG=1 alone.

setup() {
  load helper
  load muster
  load faults
  load faultdns
  faults_setup
}

teardown() {
  faultdns_stop
  faults_teardown
}

processes_die() {
  local last=$((positions - 1))
  strike 1 deaf 1
  because 'rank 2 on train-2.*signal 9 \(SIGKILL\)'
  strike 1 holder 0
  because 'rank 0 on train-0.*signal 9 \(SIGKILL\)'
  strike 1 keeper 0
  because 'member train-0.*keeper'
  strike 1 pmixd 1
  because 'member train-1.*PMIx server'
  strike 1 agent 0 # inner
  because 'member train-0.*was lost.*rank 0 is gone'
  is_long || return 0
  strike 1 agent $last
  because "member train-$last.*was lost.*rank $last is gone"
}

@test "rank, keeper, PMIx server, agents killed; a rank ignores SIGTERM, a grandchild holds the master port" {
  in_a_tree processes_die
}

# first: its loss begins the restart. second: its agent is killed. held, slow: they keep the phase.
second_failures() {
  local first=1 second=0 held=2 slow=3
  [ "$shape" = star ] || first=5 second=4 held=7 slow=3
  strike 1 in_stop $first $second $held
  strike 1 in_muster $first $second
  strike 2 in_prepare $first $second $held
  strike 2 in_go $first $second $held $slow
  strike 1 in_connect $second $held
  strike 1 in_claim $second $held
}

# Those that hold a phase are silent meanwhile, and must not be lost for that: 10 s, and not 4 as else.
patience() { job_options=(--link-grace 10 --orphan-grace 11); }

@test "an agent is killed in each phase of a restart, and of the next launcher" {
  prepare=patience
  in_a_tree second_failures
}

# A restart of all, whose second failure comes while members are inspected. (In the tree 4 and 5 are
# below 1, whose rank fails first.)
inspections_go() {
  local last=$((positions - 1))
  strike 1 in_inspect_agent 1 $((positions / 2)) $last
  strike 1 in_inspect_pod 1 $((positions * 5 / 8)) $last
  strike 1 in_inspect_launcher 1 $last
}

with_checks() {
  sources=(--pods "train-[0-$((positions - 1))].train" --check on-failure,replacement
    --check-command "sh $ckpt/check" --check-timeout 60)
  # shellcheck disable=SC2016  # the check expands it
  echo 'while [ -e "$0.hold.$MUSTER_MEMBER" ]; do sleep 0.05; done
    echo "{\"check\": \"held\", \"verdict\": \"pass\"}"' >"$ckpt/check"
}

@test "an agent, a pod, the launcher go while members are inspected" {
  prepare=with_checks
  in_a_tree inspections_go
}

pods_go() {
  if is_long; then
    strike 1 pod $((positions - 1))
    strike 1 pod 0
    because 'member train-0.*was lost.*rank 0 is gone'
  fi
  strike 1 most 1
  strike 1 pending_and_stale 1 $((positions - 2))
}

# Longer than anything is Pending.
a_minute_and_more() { job_options=(--replace-timeout 180); }

@test "pods replaced, 6 of 8 at once; a replacement is Pending, and DNS has another one's old address" {
  prepare=a_minute_and_more
  in_a_tree pods_go 8
}

links_go() {
  strike 0 reset 1
  if is_long; then
    strike 1 cut 1
    because 'member train-1.*was lost: no sign of life for 3'
  fi
  strike 1 vanish 2 # for good: a replacement comes
  strike 1 other_key 2
  strike 1 reuse_job 3
}

@test "links reset, cut, cut for good; a dead pod's address is another group's, another job's" {
  in_a_tree links_go
}

launchers_go() {
  if is_long; then
    strike 1 deposed 0
    grep -q "another launcher, on $launchers_pod, has taken job soak-$job_number over" "$err"
    strike 1 halves_and_launchers
  fi
  strike 2 stuck 1
}

bad_dns() { faultdns_start "pods.$stand_in=" "pods.$launchers_pod="; }

@test "an old pod is Terminating for ever; the old launcher thaws beside the new one; halves" {
  prepare=bad_dns
  in_a_tree launchers_go
}

by_addresses() {
  sources=(--hostfile /etc/muster/group/hostfile) files_right=hostfile_right
  list_addresses
}

two_addresses() { strike 1 two_addresses 2 $((positions - 1)); }

@test "two members known by their addresses alone are replaced together" {
  prepare=by_addresses
  in_a_star two_addresses
}

# The stand-in is a member, too, and has no position.
one_more() {
  setting=spare sources=(--pods "train-[0-$positions].train" -n "$positions")
}

extra_serves() {
  local last=$((positions - 1)) # a leaf: what is below an inner one waits for its replacement
  strike 1 spare $last
  because "member train-$last.*was lost.*rank $last is gone"
}

@test "N+1 agents: the extra takes the position of one that is lost" {
  prepare=one_more
  in_a_tree extra_serves
}

@test "the same failure at the same step: given up after three times" {
  PODBOX_BED+=-tree
  agents_up 8
  for fanout in 64 2; do
    run -7 lead timeout 60 "$muster" run --on-failure restart --pods 'train-[0-7].train' --slots 1 \
      --fanout $fanout --grace 1 --pmi none sh -c '[ "$RANK" = 6 ] && exit 7; exec sleep 100'
    [[ $output == *'rank 6 on train-6'*'exit code 7'*'the same failure of the same rank ended 3 attempts in a row'* ]]
    [[ $output == *'gave up at attempt 3, after 2 restarts'* ]]
    wait_for 10 nothing_left 8
  done
}

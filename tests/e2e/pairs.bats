#!/usr/bin/env bats
# Pairs of members: a slow or dead link and a node that hangs are blamed, and nobody else.

setup() {
  load helper
  load muster
  bed_setup
  # Other work on the machine may slow pairs down: what is planted is far slower.
  printf 'slow_factor 12\nclear_factor 5\nrtt_slack_us 500000\n' >"$BATS_TEST_TMPDIR/thresholds"
}

teardown() { bed_teardown; }

# pairs_up N: pods and agents, and a check of their own that passes.
pairs_up() {
  agents_up "$1"
  cp "$BATS_TEST_TMPDIR/thresholds" "$BATS_TEST_TMPDIR/cm/thresholds"
  echo 'echo "{\"check\": \"own\", \"verdict\": \"pass\"}"' >"$BATS_TEST_TMPDIR/cm/check"
  "$podbox" volume put group "$BATS_TEST_TMPDIR/cm" >/dev/null
  pods=(--pods "train-[0-$(($1 - 1))].train")
}

own=(--check-command 'sh /etc/muster/group/check' --check-thresholds /etc/muster/group/thresholds
  --check-timeout 8)

check() { lead timeout 120 "$muster" check "${pods[@]}" "${own[@]}" "$@"; }

in_fabric() {
  local fabric
  fabric=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["fabric"][0])' <"/run/podbox/$PODBOX_BED/bed.json")
  nsenter -t "$fabric" -n "$@"
}

ip_of() { "$podbox" ip "train-$1"; }

# slow_to I [J]: what train-I gets (from train-J) on the pairs' ports (below 32768) comes at 12 MB/s.
slow_to() {
  local dev=p$1 end from=()
  [ -z "${2:-}" ] || from=(match ip src "$(ip_of "$2")/32")
  in_fabric tc qdisc add dev "$dev" root handle 1: htb
  in_fabric tc class add dev "$dev" parent 1: classid 1:3 htb rate 96mbit burst 64kb quantum 60000
  for end in sport dport; do
    in_fabric tc filter add dev "$dev" parent 1: protocol ip u32 "${from[@]}" match ip "$end" 0x4000 0xc000 flowid 1:3
  done
}

# deaf I: it gets nothing on the pairs' ports.
deaf() {
  in_fabric nft -f - <<END
table bridge pairs {
  chain forward {
    type filter hook forward priority 0;
    ip daddr $(ip_of "$1") tcp dport 20000-31999 drop
    ip daddr $(ip_of "$1") tcp sport 20000-31999 drop
  }
}
END
}

blamed() { grep '^at fault: ' <<<"$output"; }

@test "all well: every pair is in the table, and nobody is blamed" {
  pairs_up 4
  run -0 check
  [ "$(grep -cE '^train-[0-3].train, train-[0-3].train +- +pair +pass +- +[0-9]+ MB/s, [0-9]+ us$' <<<"$output")" = 6 ]
  [[ $output == *'4 of 4 members passed' ]]
  run -0 check --no-pairs
  [[ $output != *pair* ]]
}

@test "--check-over nccl: a pair without GPUs could not run, and blames nobody" {
  [ ! -e /dev/nvidia0 ] || skip "there is a GPU here"
  pairs_up 2
  run check --check-over nccl
  echo "$output"
  [[ $output == *'train-0.train, train-1.train'*pair*could-not-run*'has no GPU, driver, NCCL or netcheck'* ]]
  [ -z "$(blamed)" ]
  [[ $output == *'2 of 2 members passed'* ]]
}

@test "a slow link between two members that are well with others is at fault, and no member; a run says so and goes on" {
  pairs_up 4
  slow_to 1 2
  slow_to 2 1
  run -1 check
  [[ $(blamed) =~ ^'at fault: link train-1.train and train-2.train: slow between them ('[0-9.]+' MB/s, the median is '[0-9.e+]+')'$ ]]
  [[ $output == *'4 of 4 members passed'* ]]
  run -1 --separate-stderr check --json
  python3 -c 'import json, sys
r = json.load(sys.stdin)
assert r["verdict"] == "fail" and [m["verdict"] for m in r["members"]] == ["pass"] * 4
[b] = r["blamed"]
assert (b["a"], b["b"], b["sure"]) == ("train-1.train", "train-2.train", True), b
assert sorted(p["verdict"] for p in r["pairs"]) == ["fail"] + ["pass"] * 5' <<<"$output"
  run -0 lead timeout 120 "$muster" run "${pods[@]}" --slots 1 --pmi none --check before --check-pairs "${own[@]}" echo ran
  [[ $output == *'warning: train-1.train and train-2.train: slow between them ('* ]]
  [ "$(grep -cx ran <<<"$output")" = 4 ]
}

@test "a node that hangs with each of its partners is at fault, and none of them" {
  pairs_up 4
  deaf 2
  run -1 check --check-timeout 3
  [ "$(blamed)" = 'at fault: node train-2.train: no end with different partners' ]
  grep -qE '^train-2.train +[0-9.]+ +pairs +fail +- +no end with different partners$' <<<"$output"
  [[ $output == *'3 of 4 members passed, 1 failed (train-2.train)'* ]]
}

@test "muster run --check-pairs: a slow node gives its position to a spare" {
  pairs_up 5
  slow_to 1
  run -0 lead timeout 120 "$muster" run "${pods[@]}" --slots 1 --spares 1 --on-failure restart --pmi none \
    --check before --check-pairs "${own[@]}" \
    sh -c 'echo "rank $RANK on $(hostname)"'
  [[ $output == *'warning: member train-1.train ('*') is not fit for ranks: check pairs: slow with different partners ('* ]]
  [[ $output == *'rank 1 on train-4'* && $output != *'on train-1'* ]]
}

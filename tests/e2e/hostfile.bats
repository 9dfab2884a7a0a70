#!/usr/bin/env bats
# muster hostfile, and the cases of the field that are about hostfiles.

setup() {
  load helper
  load muster
  cases=$MUSTER_SRCDIR/tests/cases/hostfiles
  cd "$BATS_TEST_TMPDIR" || return
  export MUSTER_KEY_DIR=$BATS_TEST_TMPDIR/ring
  "$muster" keygen ring >/dev/null
}

teardown() { bed_teardown; }

hostfile() { run --separate-stderr timeout 20 "$muster" hostfile "$@"; }

# words: the hosts of the JSON in $output as NAME=SLOTS ('-': no count).
words() {
  sed -nE 's/^ *\{"name": "([^"]*)", "slots": ([0-9a-z]+).*/\1=\2/; s/null/-/; T; p' <<<"$output" |
    paste -sd' '
}

# gives WORDS FROM [OPTION...]
gives() {
  hostfile --from "${@:2}" --to json
  [ "$status" = 0 ]
  [ "$(words)" = "$1" ]
}

warnings() {
  hostfile --from "$1" --to json
  sed -n '/"warnings"/,$p' <<<"$output" | grep -c '^    "'
}

# refused LINE:COLUMN KIND WORD OPTION...: exit code 1, nothing on stdout, one such line.
refused() {
  hostfile --from "${@:4}"
  [ "$status" = 1 ]
  [ "$output" = '' ]
  [[ "$stderr" == "$4:$1: $2: "*"$3"* ]]
  [ "$(wc -l <<<"$stderr")" = 1 ]
}

@test "case hf-01: a misspelt key is named with file, line, column and the key that was meant" {
  refused 2:12 HF_UNKNOWN_KEY "'lots'; did you mean 'slots'" "$cases/h20_typo_keyword"
}

@test "case hf-02: a hostfile that is not there is an error, never this machine alone" {
  hostfile --from /job/no-such-hostfile
  [ "$status" = 1 ]
  [[ "$stderr" == "/job/no-such-hostfile: HF_NOT_FOUND: "* ]]
  run timeout 20 "$muster" run --hostfile /job/no-such-hostfile touch started
  [ "$status" = 125 ]
  [[ "$output" == *"/job/no-such-hostfile: HF_NOT_FOUND"* ]]
  [ ! -e started ]
}

@test "case hf-06: --include and --exclude choose hosts and slots" {
  printf 'n1 slots=2\nn3 slots=4\n' >f
  gives "n3=4" f --include n3
  gives "n3=2" f --include n3:1,2
  [[ "$output" == *'"slot_ids": [1,2]'* ]]
  gives "n1=2 n3=2" f --exclude n3:0,3
  hostfile --from f --exclude n3:0,3 --to deepspeed
  [ "$output" = $'n1 slots=2\nn3 slots=2' ]
  [[ "$stderr" == *"which slots are meant (n3:1,2)"* ]]
  hostfile --from f --include n9
  [ "$status" = 1 ]
  [[ "$stderr" == *"--include:1: HF_NO_SUCH_HOST: there is no host 'n9'"* ]]
}

@test "case hf-09: no newline at the end. Case hf-12: an empty line at the end" {
  gives "10.44.0.10=8 10.44.0.15=8" "$cases/h02_ip_slots_no_final_newline"
  gives "mpi-1=- mpi-2=- mpi-3=- mpi-4=-" "$cases/h05_trailing_blank_line"
}

@test "case hf-13: uneven counts" {
  gives "gpu-a0=8 gpu-a1=2 gpu-a2=4 gpu-a3=1" "$cases/h01_uneven_slots"
}

@test "case hf-14: name slots=N and name:N are the same" {
  local both="llm-worker-0.llm-worker.team-a.svc=8 llm-worker-1.llm-worker.team-a.svc=8"
  gives "$both" "$cases/h06_k8s_svc_name_slots"
  gives "$both" "$cases/h07_k8s_svc_name_colon"
  hostfile --from "$cases/h06_k8s_svc_name_slots" --to intel
  diff "$cases/h07_k8s_svc_name_colon" <(echo "$output")
  hostfile --from "$cases/h07_k8s_svc_name_colon" --to openmpi
  diff "$cases/h06_k8s_svc_name_slots" <(echo "$output")
}

@test "case hf-17: a short name that two hosts could be" {
  printf 'node01.siteA\nnode01.siteB\n' >f
  hostfile --from f --include node01
  [ "$status" = 1 ]
  [[ "$stderr" == *AMBIGUOUS_HOST*node01.siteA*node01.siteB* ]]
  printf 'node01.siteA\nnode02.siteB\n' >f
  gives "node01.siteA=-" f --include node01
}

@test "case hf-18: a host with and without a count. Case hf-19: with two counts" {
  refused 2:1 HF_DUP_COUNT "ash stands on line 1" "$cases/h15_repeat_host_mixed"
  refused 3:1 HF_DUP_COUNT "ash stands on line 1" "$cases/h14_repeat_host_with_slots"
  refused 3:1 HF_DUP_COUNT "ash stands on line 1" "$cases/h14_repeat_host_with_slots" --in openmpi
  refused 3:1 HF_DUP_COUNT "ash stands on line 1" "$cases/h14_repeat_host_with_slots" --in deepspeed
  gives "ash=4 birch=4 ash=2" "$cases/h14_repeat_host_with_slots" --in horovod
}

@test "case hf-20: repeated hosts, as Open MPI and as Hydra" {
  gives "ash=2 birch=- cedar=2" "$cases/h13_repeat_host_no_slots"
  gives "ash=2 birch=1 cedar=2" "$cases/h13_repeat_host_no_slots" --in hydra
  gives "ash=1 birch=1 ash=1" "$cases/h53_nonadjacent_repeat_slots1" --in hydra
}

@test "case hf-22: addresses without counts: the dry run shows that there is none" {
  printf '10.4.0.1\n10.4.0.2\n' >f
  gives "10.4.0.1=- 10.4.0.2=-" f
  gives "10.4.0.1=8 10.4.0.2=8" f --slots 8
  run timeout 20 "$muster" roll --hostfile f
  [ "$status" = 0 ]
  [[ "${lines[1]}" =~ ^10.4.0.1\ +-\  ]]
}

@test "case hf-23: a host on the command line has one slot. Case hf-24: lists have commas" {
  run timeout 20 "$muster" run --host localhost -n 2 touch started
  [ "$status" = 125 ]
  [[ "$output" == *"2 ranks wanted, 1 slots there"*"such as localhost:2"* ]]
  run timeout 20 "$muster" run --host localhost:0 10.0.0.11:2 10.0.0.12:2 -n 4 touch started
  [ "$status" = 125 ]
  [[ "$output" == *"'10.0.0.11:2' would be the program"*"commas"* ]]
  [ ! -e started ]
  gives "localhost=0" hosts:localhost:0
}

@test "case hf-25: localhost among others is this machine" {
  gives "$(uname -n)=2 10.44.0.11=2" "$cases/h36_localhost_mixed"
  [ "$(warnings "$cases/h36_localhost_mixed")" = 1 ]
  printf 'localhost slots=2\n%s slots=2\n' "$(uname -n)" >f
  refused 1:1 HF_DUP_COUNT "line 2" f
}

@test "case hf-26: a hostfile as a list for -H" {
  printf '172.16.1.2 slots=8\n172.16.2.2 slots=8\n' >f
  hostfile --from f --to horovod
  [ "$output" = 172.16.1.2:8,172.16.2.2:8 ]
}

@test "case hf-30: IPv6 addresses, read and reached" {
  gives "fd00:10:244::5=8 fd00:10:244:1::9=8" "$cases/h21_ipv6_slots"
  bed_setup
  unset MUSTER_KEY_DIR
  agents_up 2 --ipv6
  local i
  for i in 0 1; do
    lead getent ahostsv6 "train-$i.train" | awk '{ print $1 " slots=1"; exit }'
  done >cm/hostfile
  grep -q '^fd' cm/hostfile
  "$podbox" volume put group cm >/dev/null
  run --separate-stderr lead timeout 60 "$muster" run --hostfile /etc/muster/group/hostfile hostname
  [ "$status" = 0 ]
  [ "$(sort <<<"$output" | paste -sd' ')" = "train-0 train-1" ]
  run --separate-stderr lead timeout 20 "$muster" hostfile --from dns:train --slots 2 --to plain
  [ "$status" = 0 ]
  [ "$(grep -cE '^train-[01]\.train' <<<"$output")" = 2 ]
  run lead timeout 20 "$muster" hostfile --from dns:nosuch
  [ "$status" = 1 ]
}

@test "case hf-32: names that begin with a digit, and numbers that are no names" {
  refused 2:1 HF_BAD_NAME "'20260'" "$cases/h34_digit_first"
  printf '0451-b slots=2\n' >f
  gives "0451-b=2" f
}

@test "case hf-34: long numbers survive host ranges" {
  hostfile --from "$cases/h35_long_numbers" --to slurm
  echo "$output" >ranges
  hostfile --from ranges --in slurm --to plain
  diff <(cut -d' ' -f1 "$cases/h35_long_numbers") <(echo "$output")
}

@test "case hf-36: ports" {
  gives "ash=4 birch=4" "$cases/h17_ssh_port"
  [ "$(grep -c '"port": 2222' <<<"$output")" = 2 ]
  for port in 0 70000; do
    echo "ash port=$port" >f
    refused 1:5 HF_BAD_PORT "'$port'" f
  done
}

@test "case hf-37: user@ is no part of an address" {
  run timeout 20 "$muster" roll --host u@10.9.0.1,u@10.9.0.2,u@10.9.0.3 --json
  [ "$status" = 0 ]
  [ "$(grep -cE '"address": "10.9.0.[123]"' <<<"$output")" = 3 ]
  gives "10.9.0.1=- 10.9.0.2=-" hosts:u@10.9.0.1,u@10.9.0.2
}

@test "case hf-38: all of a file or nothing; ^host; a directory; lines count from 1 in each file" {
  gives "ash=4 birch=4 fd00::5=8 cedar=4" "$cases/h49_bad_third_line"
  gives "ash=4" "$cases/h27_exclude"
  hostfile --from /tmp
  [ "$status" = 1 ]
  [[ "$stderr" == "/tmp: HF_NOT_A_FILE: "* ]]
  printf 'a slots=1\nb x\n' >f
  refused 2:3 HF_SYNTAX "'x'" f
}

@test "case hf-39: NUL. Case hf-41: CRLF. Case hf-42: byte order mark. Case hf-43: a hard space" {
  refused 2:1 HF_ENCODING NUL "$cases/h47_nul_byte"
  gives "rig-1=4 rig-2=4" "$cases/h09_crlf"
  [ "$(warnings "$cases/h09_crlf")" = 1 ]
  gives "rig-1=4 rig-2=4" "$cases/h10_utf8_bom"
  [ "$(warnings "$cases/h10_utf8_bom")" = 1 ]
  refused 1:4 HF_ENCODING "0xC2 0xA0" "$cases/h43_nbsp"
}

@test "case hf-44: blanks round '='. Case hf-46: 99999999999 slots" {
  gives "ash=4 birch=4" "$cases/h18_spaces_round_equals"
  gives "ash=4 birch=4" "$cases/h18_spaces_round_equals" --in openmpi
  refused 1:5 HF_BAD_COUNT "0 to 1000000" "$cases/h40_slots_overflow"
}

# first_of LIST FIRST N
first_of() {
  hostfile --from "hosts:$1" --in slurm --to plain
  [ "${lines[0]}" = "$2" ]
  [ "${#lines[@]}" = "$3" ]
}

@test "case hf-47: lists in brackets. Case hf-49: padded numbers" {
  first_of 'linux[1,2]' linux1 2
  first_of alpha,beta,gamma alpha 3
  first_of jean-z-ia810 jean-z-ia810 1
  first_of 'a-dy-g4xl-[1-4]' a-dy-g4xl-1 4
  first_of 'nodeA,nodeB[001,003],nodeC' nodeA 4
  [ "${lines[2]}" = nodeB003 ]
  first_of 'h[001,003-004,006]' h001 4
  first_of c1009a-s17,c1010a-s11 c1009a-s17 2
  export SLURM_NODELIST='b-[001-002]'
  gives "b-001=- b-002=-" env:SLURM_NODELIST
  SLURM_NODELIST='h[00-03]'
  gives "h00=- h01=- h02=- h03=-" env:SLURM_NODELIST --in slurm
}

@test "case hf-50: a mistyped huge range is refused at once" {
  echo 'gpu[001-100000]' >f
  (ulimit -v 200000 && refused 1:4 HF_RANGE_TOO_BIG 65536 f)
}

@test "case hf-51: a file of ranges and comments" {
  gives "gpu01-r1=- gpu01-r2=- gpu02-r1=- gpu02-r2=- cpu7=-" "$cases/h50_pdsh_ranges_file"
  gives "gpu01-r1=- gpu01-r2=- gpu02-r1=- gpu02-r2=- cpu7=-" "$cases/h50_pdsh_ranges_file" --in slurm
}

@test "case hf-52: relative names choose, they do not list. Case hf-53: they count from the list's head" {
  refused 1:1 HF_RELATIVE_IN_ALLOC "'+n0'" "$cases/h26_relative"
  gives "a=- b=2" hosts:a,b,c --filter "$cases/h26_relative"
  gives "w0=-" hosts:w0,w1 --include +n0
}

@test "case hf-54: quotes. Case hf-55: slots= without a number" {
  refused 1:1 HF_SYNTAX quote "$cases/h46_quoted"
  refused 1:5 HF_BAD_COUNT number "$cases/h45_slots_missing_value"
}

@test "what auto took a file for is said, on stderr" {
  hostfile --from "$cases/h07_k8s_svc_name_colon" --to plain
  [[ "$stderr" == *"read as hydra"* ]]
  hostfile --from "$cases/h07_k8s_svc_name_colon" --to plain --in hydra
  [[ "$stderr" != *"read as"* ]]
}

@test "stdin, and every command reads every dialect" {
  run --separate-stderr timeout 20 "$muster" hostfile --from - --in horovod --to hydra <<<a:2,b:3
  [ "$output" = $'a:2\nb:3' ]
  printf '10.1.0.1:2\n10.1.0.2\n10.1.0.1:3\n' >f
  run --separate-stderr timeout 20 "$muster" roll --hostfile f --dialect hydra --json
  [ "$status" = 0 ]
  [ "$(grep -oE '"slots": [0-9]+' <<<"$output" | paste -sd' ')" = '"slots": 5 "slots": 1' ]
  [[ "$output" == *"10.1.0.1 is listed again"* ]]
  run timeout 20 "$muster" run --hostfile f --dialect deepspeed true
  [ "$status" = 125 ]
  [[ "$output" == *"f:1:9: HF_SYNTAX: "* ]]
  run timeout 20 "$muster" run --hostfile f --dialect nosuch true
  [ "$status" = 125 ]
  [[ "$output" == *"--dialect is 'nosuch'"*openmpi* ]]
  run timeout 20 "$muster" run --host a:2 --dialect hydra true
  [ "$status" = 125 ]
  [[ "$output" == *"no --hostfile"* ]]
}

@test "a full disk is an error" {
  [ -e /dev/full ] || skip "no /dev/full here"
  run timeout 20 sh -c "\"$muster\" hostfile --from hosts:a >/dev/full"
  [ "$status" = 1 ]
  [[ "$output" == *"No space left"* ]]
}

#!/usr/bin/env bash
# ./dev parity mpi4py [PPNS [GROUP...]]: mpi4py's own test suite, whole, on 4 emulated pods with Open MPI,
# under muster and under mpirun over ssh on the same pods.
#
# In groups, so that one that dies or hangs does not hide the others. What fails under muster and
# not under mpirun is a failure of this script; what fails under both is the MPI's own and is
# printed. PPNS ("1 2") is ranks a pod; a GROUP is a pattern of module names. All takes half
# an hour on two cores.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
BATS_TEST_TMPDIR=$work BATS_TEST_DIRNAME=$here/e2e BATS_TEST_NUMBER=0
export BATS_TEST_TMPDIR
bats_require_minimum_version() { :; }
# shellcheck source=tests/e2e/helper.bash
. "$here/e2e/helper.bash"
# shellcheck source=tests/e2e/muster.bash
. "$here/e2e/muster.bash"
# shellcheck source=tests/e2e/sshd.bash
. "$here/e2e/sshd.bash"
# shellcheck source=tests/e2e/mpi4py.bash
. "$here/e2e/mpi4py.bash"

pods=4
group_limit=${GROUP_LIMIT:-900} # s
groups=(test_spawn test_dynproc test_util 'test_(io|file)' 'test_(rma|win)' test_p2p test_msg
  'test_cco_(buf|nb_buf)' 'test_cco_(vec|nb_vec)' 'test_cco_(obj|pr|ngh)'
  'test_(a|b|comm|cff|cty|dat|doc|env|err|exc|g|h|inf|mpi|obj|op|pa|pic|req|s[eu]|sta|th|to|ul)')

ppns=${1:-1 2}
[ $# -lt 2 ] || groups=("${@:2}")
export PODBOX_BED=parity-$$
trap 'pb down >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

make_bed() {
  secret_make "$work/ssh"
  "$podbox" volume put ssh "$work/ssh" --mode 0600 >/dev/null
  shared=$work/shared
  mkdir "$shared"
  agents_up $pods --share "$shared" --secret ssh:/root/.ssh:0600
  sshds $pods
  in_pod train-0 <<'IN'
cat >/etc/ssh/ssh_config <<'CONFIG'
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
IdentityFile /root/.ssh/id_rsa
CONFIG
IN
}

# run_muster PPN OUT GROUP: each rank's stderr in OUT/rank.N.err.
run_muster() {
  local exports=(-x "TMPDIR=$shared" -x PYTHONUNBUFFERED=1 -x OMPI_MCA_mpi_yield_when_idle=1)
  lead "$muster" run -q --pods "train-[0-$((pods - 1))].train" --slots "$1" \
    --timeout "$group_limit" --output "$2" "${exports[@]}" "$python" "$suite" -v -i "$3"
}

run_mpirun() {
  for ((i = 0; i < pods; i++)); do echo "train-$i.train slots=$1"; done |
    lead sh -c 'cat >/tmp/hosts'
  local code=0
  lead timeout "$group_limit" mpirun.openmpi --allow-run-as-root --oversubscribe \
    --mca btl_base_warn_component_unused 0 --mca orte_keep_fqdn_hostnames 1 \
    --mca mpi_yield_when_idle 1 -x "TMPDIR=$shared" -x PYTHONUNBUFFERED=1 \
    --hostfile /tmp/hosts -n $((pods * $1)) --output-filename "$2.d" \
    "$python" "$suite" -v -i "$3" || code=$?
  mkdir -p "$2"
  for i in "$2.d"/1/rank.*; do cp "$i/stderr" "$2/${i##*/}.err"; done
  return $code
}

# What ranks say of each test: "ok NAME", "bad NAME", "skipped NAME", "open NAME" (it never
# ended).
verdicts() {
  cat "$@" | sed -nE 's/^([A-Za-z0-9_]+) \(([A-Za-z0-9_.]+)\) \.\.\. *(.*)$/\3 \2/p' |
    sed -E "s/^(FAIL|ERROR) /bad /; s/^skipped '.*' /skipped /; s/^ /open /" | sort -u
}

# one LAUNCHER PPN GROUP-NUMBER: runs it, prints a line.
one() {
  local out=$shared/$1-$2-$3 code=0 start=$SECONDS
  "run_$1" "$2" "$out" "${groups[$3]}" >"$out.log" 2>&1 || code=$?
  verdicts "$out"/rank.*.err >"$work/$1-$2-$3" 2>/dev/null || :
  printf '%-7s %d a pod  %-42.42s %4d s  exit %3d  %s\n' "$1" "$2" "${groups[$3]}" \
    $((SECONDS - start)) $code \
    "$(awk '{ n[$1]++ } END { for (k in n) printf "%s %d ", k, n[k] }' "$work/$1-$2-$3")"
}

# Not ok or skipped under a launcher, all groups.
failed() { cat "$work/$1-$2"-* | awk '$1 == "bad" || $1 == "open" { print $2 }' | sort -u; }

why=$(bed_missing)
[ -z "$why" ] || { echo "parity: $why" >&2; exit 77; }
mpi4py_make || exit 77
make_bed
bad=0
for p in $ppns; do
  for ((g = 0; g < ${#groups[@]}; g++)); do
    one muster "$p" $g
    one mpirun "$p" $g
  done
  ours=$(comm -23 <(failed muster "$p") <(failed mpirun "$p"))
  echo "fail under both, $p a pod: $(comm -12 <(failed muster "$p") <(failed mpirun "$p") | tr '\n' ' ')"
  echo "fail under mpirun alone, $p a pod: $(comm -13 <(failed muster "$p") <(failed mpirun "$p") | tr '\n' ' ')"
  [ -z "$ours" ] || { echo "fail under muster alone, $p a pod: $ours"; bad=1; }
done
exit $bad

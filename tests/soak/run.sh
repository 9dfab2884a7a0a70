#!/usr/bin/env bash
# ./dev soak [--seed S] [--minutes M] [--faults N] [--pods P] [--per-job K] [--only KIND,...]: random
# faults against training jobs on emulated pods, in one bed, star and tree in turn; after each
# fault the invariants below. The same seed draws the same faults in the same order. A violation
# ends it with 1, the seed, the trace, and everything that was seen in build/soak-SEED/.
#
#   each wait has a bound (SOAK_BOUND, 60 s); the job goes on, by itself, with all ranks
#   no two ranks of one number at once; no process of an older attempt on any pod
#   /etc/hosts and hostfile of each pod: the address of the pod that stands at each position now
#   file descriptors of agents: as many as before, in the job and between jobs
#   the job's result: bit-identical to that of one undisturbed process
set -euo pipefail

build=${MUSTER_BUILDDIR:?run this through ./dev soak}
seed=$EPOCHSECONDS minutes='' limit='' positions=7 only='' per_job=8
bound=${SOAK_BOUND:-60} pause_ms=20
while [ $# -gt 1 ]; do
  case $1 in
    --seed) seed=$2 ;;
    --minutes) minutes=$2 ;;
    --faults) limit=$2 ;;
    --pods) positions=$2 ;;
    --per-job) per_job=$2 ;;
    --only) only=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# = 0 ] || { echo "soak: what is $1? --seed S, --minutes M, --faults N, --pods P (3 or more), --per-job K, --only KIND,..." >&2; exit 2; }
[ -n "$minutes$limit" ] || minutes=10
((positions >= 3)) || { echo 'soak: --pods 3 or more' >&2; exit 2; }

top=$(cd "$(dirname "$0")/../.." && pwd)
export MUSTER_SRCDIR=$top
bats_require_minimum_version() { :; } # the helpers of the tests need nothing else of bats
# shellcheck source=tests/e2e/helper.bash
source "$top/tests/e2e/helper.bash"
# shellcheck source=tests/e2e/muster.bash
source "$top/tests/e2e/muster.bash"
# shellcheck source=tests/soak/bed.bash
source "$top/tests/soak/bed.bash"
# shellcheck source=tests/soak/faults.bash
source "$top/tests/soak/faults.bash"

why=$(bed_missing)
[ -z "$why" ] || { echo "soak: $why" >&2; exit 77; }
export PODBOX_BED=soak-$$
work=$(mktemp -d)
clean_up() {
  "$podbox" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

if [ -n "$only" ]; then
  IFS=, read -ra kinds <<<"$only"
else
  mapfile -t kinds < <(printf '%s\n' "${!fault_kinds[@]}" | sort)
fi
for kind in "${kinds[@]}"; do
  [ -n "${fault_kinds[$kind]:-}" ] ||
    { echo "soak: no kind of fault is called '$kind': $(printf '%s\n' "${!fault_kinds[@]}" | sort | tr '\n' ' ')" >&2; exit 2; }
done

# ---- drawing -------------------------------------------------------------------------

# draw N: sets `drawn`, 0 to N - 1.
draw() { drawn=$(((RANDOM << 15 | RANDOM) % $1)); }

# draw_fault: always as many draws, so that nothing that happens changes what follows.
draw_fault() {
  draw ${#kinds[@]} && kind=${kinds[drawn]}
  draw "$positions" && position=$drawn
  draw 300 && after_ms=$drawn
  draw 4 && second=$((drawn == 0))
  draw ${#second_kinds[@]} && second_kind=${second_kinds[drawn]}
  draw "$positions" && second_position=$drawn
  draw 1500 && gap_ms=$drawn
  # What goes on while a pod is frozen or DNS is wrong is a fault of its own.
  case $kind in twin | stale | launcher | relaunch | reset | glitch | freeze) second=0 ;; esac
  [ -z "$only" ] || second=0
  name="$kind at $position (${pod_of[position]})"
  [ "$second" = 0 ] || name+=", $gap_ms ms later $second_kind at $second_position (${pod_of[second_position]})"
}

pause() { sleep "$(($1 / 1000)).$(printf '%03d' $(($1 % 1000)))"; } # moments are the stimulus

# ---- one fault -----------------------------------------------------------------------

declare -A times_of count_of
faults=0 jobs=0 frozen='' begun=$EPOCHSECONDS trace=()

violation() {
  local kept=$build/soak-$seed
  rm -rf "$kept"
  mkdir -p "$kept"
  cp -r "$work"/out "$work"/err "$work"/ckpt "$kept" 2>/dev/null || true
  local i
  for ((i = 0; i <= positions + 1; i++)); do
    "$podbox" ps "train-$i" >"$kept/train-$i.ps" 2>&1 || true
    "$podbox" logs "train-$i" >"$kept/train-$i.log" 2>&1 || true
  done
  for ((i = 0; i < positions; i++)); do
    "$podbox" exec "${pod_of[i]}" tail -n 99 /etc/hosts /tmp/hostfile >"$kept/train-$i.files" 2>&1 || true
  done
  "$podbox" list >"$kept/list" 2>&1 || true
  {
    echo "VIOLATION: $*"
    echo "seed $seed, job $jobs ($shape), fault $faults; attempt $(attempt_now); faults of this job:"
    printf '  %s\n' "${trace[@]}"
    echo "the launcher's last words:"
    tail -n 12 "$err"
    echo "again: ./dev soak --seed $seed --faults $faults --pods $positions --per-job $per_job${only:+ --only $only}; kept: $kept"
  } | tee "$kept/trace"
  exit 1
}

# Waits for the recovery from what began at attempt `before`, line `line`; sets recovered_ms.
recovers() {
  local start=$1 before=$2 line=$3 was=$2
  case ${fault_kinds[$kind]} in
    silent | either) before=$((before - 1)) ;;
    anew) before=0 line=0 first_line=0 ;; # its output is new, too
  esac
  wait_for "$bound" eval 'gone "$job" || runs '"$before" || violation "$name: no further attempt"
  recovered_ms=$(($(ms) - start))
  wait_for "$bound" eval 'gone "$job" || moves '"$before $line" || violation "$name: the job does not go on"
  [ "${fault_kinds[$kind]}" = again ] || [ "${fault_kinds[$kind]}" = anew ] || recovered_ms=$(($(ms) - start))
  ! gone "$job" || violation "$name: the job ended"
  [ "${fault_kinds[$kind]}" != silent ] || [ "$(attempt_now)" = "$was" ] || violation "$name: attempt $was did not go on"
}

# holds LINE: what must, of a fault that began behind this line of the output.
holds() {
  local twin
  twin=$(twins "$1" "$frozen") && violation "$name: $twin"
  wait_for "$bound" eval 'gone "$job" || ranks_right' || violation "$name: too many or too few processes"
  wait_for "$bound" roll_right || violation "$name: hosts or hostfiles are not right"
  wait_for "$bound" fds_flat || violation "$name: file descriptors: ${fds[*]} before"
}

one_fault() {
  local start before line first_line rc=0
  draw_fault
  ((++faults))
  trace+=("$faults: $name, after $after_ms ms")
  pause "$after_ms"
  before=$(attempt_now) line=$(lines_now) start=$(ms) first_line=$line
  "fault_$kind" "$position" >>"$work/podbox.log" 2>&1 || rc=$?
  [ "$rc" = 0 ] || violation "$name: it had no effect (code $rc)"
  if [ "$second" = 1 ]; then
    pause "$gap_ms"
    line=$(lines_now)
    "fault_$second_kind" "$second_position" >>"$work/podbox.log" 2>&1 || true # nobody may be there
  fi
  recovers "$start" "$before" "$line"
  holds "$first_line"
  frozen=''
  log_fault "$before"
}

log_fault() {
  printf '%4d  %-4s  attempt %2d -> %-2d  %6.2f s  %s\n' "$faults" "$shape" "$1" "$(attempt_now)" \
    "$(awk "BEGIN { print $recovered_ms / 1000 }")" "$name"
  ((count_of[$kind] = ${count_of[$kind]:-0} + 1))
  times_of[$kind]+=" $recovered_ms"
}

# ---- the whole -----------------------------------------------------------------------

over() {
  [ -z "$limit" ] || [ "$faults" -lt "$limit" ] || return 0
  [ -n "$minutes" ] && [ $((EPOCHSECONDS - begun)) -ge $((minutes * 60)) ]
}

one_job() {
  local i
  trace=() name='the start of a job'
  ((++jobs))
  start_job "$([ $((jobs % 2)) = 1 ] && echo star || echo tree)" "$pause_ms"
  kind=launcher
  recovers "$(ms)" 0 0
  # The next attempt's keepers and PMIx server stand by: agents never have more than now.
  wait_for "$bound" all_stand_by $((positions + 1)) || violation "$name: no keepers stand by"
  learn_fds
  for ((i = 0; i < per_job; i++)); do
    over && break
    one_fault
  done
  name="the end of job $jobs"
  stop_job
  end_of_job || violation "$name: it does not end"
  result_right || violation "$name: code $code, '$digest'"
  rest
  wait_for "$bound" idle_right || violation "$name: processes or descriptors are left (${idle_fds:-?})"
}

summary() {
  echo "soak: seed $seed: $faults faults in $jobs jobs of $ranks ranks, $((EPOCHSECONDS - begun)) s, no violation"
  echo "to all ranks past MPI_Init again, of each kind: count, median (min-max) in seconds"
  for kind in $(printf '%s\n' "${!times_of[@]}" | sort); do
    tr ' ' '\n' <<<"${times_of[$kind]}" | sed '/^$/d' | sort -n | awk -v k="$kind" '{ v[NR] = $1 / 1000 }
      END { printf "  %-11s %3d  %6.2f (%.2f-%.2f)\n", k, NR, v[int((NR + 1) / 2)], v[1], v[NR] }'
  done
}

main() {
  echo "soak: seed $seed, $positions pods, kinds: ${kinds[*]}"
  RANDOM=$((seed % 32768))
  soak_bed "$positions" 1
  idle_right || true # the first look at descriptors
  until over; do one_job; done
  summary
}

main; exit # bash has read all of this by now: a soak survives changes of its own file

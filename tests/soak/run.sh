#!/usr/bin/env bash
# ./dev soak: random faults against training jobs on emulated pods, in star and tree and in the
# settings of bed.bash in turn; after each fault the invariants below. The same seed and options
# draw the same faults in the same order. A violation ends it with 1, the seed, the trace, and
# everything that was seen in build/soak-SEED/.
#
#   each wait has a bound (SOAK_BOUND, 60 s); the job goes on, by itself, with all ranks
#   no two ranks of one number at once; no process of an older attempt on any pod
#   /etc/hosts and hostfile of each pod: the addresses of the members, of the positions now
#   file descriptors of agents and launcher: no more than before, in the job and between jobs
#   the job's result: bit-identical to that of one undisturbed process
set -euo pipefail

usage='soak [--seed S] [--minutes M] [--faults N] [--pods P] [--per-job K] [--only KIND,...] [--beds B] [--log FILE]
  --seed S      what is drawn (the time); bed B of several has S + B - 1
  --minutes M, --faults N
                end after so long, or so many faults, all beds together (10 minutes)
  --pods P      positions of a job, 3 or more (7: with --fanout 2 a tree of depth 3)
  --per-job K   faults in one job (8)
  --only KIND   kinds of faults, and no second one beside it
  --beds B      so many beds side by side (1)
  --log FILE    header, faults and summary (or the violation), in FILE'
build=${MUSTER_BUILDDIR:?run this through ./dev soak}
seed=$EPOCHSECONDS minutes='' limit='' positions=7 only='' per_job=8 beds=1 log=''
bound=${SOAK_BOUND:-60} pause_ms=50
refuse() { printf 'soak: %s\n%s\n' "$1" "$usage" >&2; exit 2; }
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || refuse "what is $1?"
  case $1 in
    --seed) seed=$2 ;;
    --minutes) minutes=$2 ;;
    --faults) limit=$2 ;;
    --pods) positions=$2 ;;
    --per-job) per_job=$2 ;;
    --only) only=$2 ;;
    --beds) beds=$2 ;;
    --log) log=$2 ;;
    *) refuse "what is $1?" ;;
  esac
  shift 2
done
for number in "$seed" "${minutes:-1}" "${limit:-1}" "$positions" "$per_job" "$beds"; do
  [[ $number =~ ^[0-9]{1,10}$ ]] || refuse "'$number' is no number"
done
[ -n "$minutes$limit" ] || minutes=10
((positions >= 3 && per_job >= 1 && beds >= 1)) || refuse '--pods: 3 or more; --per-job, --beds: 1 or more'

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
work=$(mktemp -d) side_by_side=() told=$work/told
: >"$told"
clean_up() {
  if [ "${#side_by_side[@]}" != 0 ]; then
    kill "${side_by_side[@]}" 2>/dev/null || true
    wait "${side_by_side[@]}" || true
    gather_beds
  fi
  [ -z "$log" ] || cp "$told" "$log" || true
  [ -z "${PODBOX_BED:-}" ] || "$podbox" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# gather_beds: what each of them told.
gather_beds() {
  local bed
  for ((bed = 1; bed <= beds; bed++)); do
    echo "bed $bed, seed $((seed + bed - 1)):"
    cat "$work/bed.$bed" || true
  done >>"$told" 2>/dev/null
  side_by_side=()
}

all_kinds() { printf '%s\n' "${!fault_kinds[@]}" | sort; }
if [ -n "$only" ]; then
  IFS=, read -ra kinds <<<"$only"
else
  mapfile -t kinds < <(all_kinds)
fi
settings=()
for setting in plain spare lead; do
  for kind in "${kinds[@]}"; do
    [ -n "${fault_kinds[$kind]:-}" ] || refuse "no kind of fault is called '$kind': $(all_kinds | xargs)"
    fault_fits "$kind" "$setting" || continue
    settings+=("$setting")
    break
  done
done

# ---- what is told ----------------------------------------------------------------------

header() {
  local kind fit
  echo "soak: $(git -C "$top" describe --always --dirty --tags 2>/dev/null || echo 'of no checkout')"
  echo "seed $seed, beds $beds, pods $positions, per job $per_job${limit:+, faults $limit}${minutes:+, minutes $minutes}${only:+, only $only}"
  echo "settings ${settings[*]} (tests/soak/bed.bash), star and tree (--fanout 2) in turn"
  echo "kinds and weights, in the settings where they fit:"
  for kind in "${kinds[@]}"; do
    fit=${fault_settings[$kind]:-all}
    echo "$kind $(fault_weight "$kind") (${fit// /, })"
  done | paste -sd';' | sed 's/;/; /g' | fold -sw 100 | sed 's/^/  /; s/ *$//'
  echo "each line: number, setting, shape, kind, position and what it is in the tree, attempts before and"
  echo "after, seconds to all ranks past MPI_Init again; a second fault, so long after the first was done"
}

# summary: of the lines of faults that were told.
summary() {
  grep -E '^ *[0-9]+ +(plain|spare|lead) ' "$told" | awk '{ print $4, ($0 ~ /, second /), $11 }' |
    sort -k1,1 -k2,2n -k3,3n | awk -v seconds=$((EPOCHSECONDS - begun)) '
    function tell() {
      if (kind == "") return
      told = n ? sprintf("%6.2f  %6.2f  %6.2f", v[int((n + 1) / 2)], v[1], v[n]) : "     -       -       -"
      table = table sprintf("  %-11s  %5d  %s  %6d\n", kind, n + two, told, two)
    }
    $1 != kind { tell(); kind = $1; n = two = 0 }
    { faults++ }
    $2 == 1 { two++; both++; next }
    { v[++n] = $3 }
    END {
      tell()
      printf "soak: %d faults, %d of them with a second one, in %d s: no violation\n", faults, both, seconds
      print "seconds to all ranks past MPI_Init again, of those without a second one:"
      printf "  kind         count  median     min     max  second\n%s", table
    }'
}

# ---- drawing -------------------------------------------------------------------------

# draw N: sets `drawn`, 0 to N - 1.
draw() { drawn=$(((RANDOM << 15 | RANDOM) % $1)); }

# fill_pool: the kinds that fit this job's setting, each as often as it weighs.
fill_pool() {
  local kind i
  pool=()
  for kind in "${kinds[@]}"; do
    fault_fits "$kind" "$setting" || continue
    for ((i = $(fault_weight "$kind"); i > 0; i--)); do pool+=("$kind"); done
  done
}

# draw_fault: always as many draws, so that nothing that happens changes what follows.
draw_fault() {
  draw ${#pool[@]} && kind=${pool[drawn]}
  draw "$positions" && position=$drawn
  draw 300 && after_ms=$drawn
  draw 3 && second=$((drawn == 0))
  draw ${#second_kinds[@]} && second_kind=${second_kinds[drawn]}
  draw "$positions" && second_position=$drawn
  draw 3 && gap_ms=$((drawn * drawn))
  draw 1000 && gap_ms=$((gap_ms * drawn)) # at once, within a second, within four
  [ -z "$only" ] || second=0
  case $kind in holder | leader | leader_pod) position=0 ;; esac
  local tries
  for ((tries = 0; tries < positions; tries++)); do
    struck_fits && return
    position=$(((position + 1) % positions))
  done
  kind=pod # nowhere now
}

# struck_fits: the position is one that this kind may strike.
struck_fits() {
  case $setting in
    lead) [ "$position" != 0 ] || [[ $fault_not_leader != *" $kind "* ]] ;;
    # Where a stand-in stands its host name is not that of the member: nobody can tell it from another's.
    plain) [ "$kind" != reuse_job ] || [ "${pod_of[position]}" = "train-$position" ] ;;
  esac
}

pause() { sleep "$(($1 / 1000)).$(printf '%03d' $(($1 % 1000)))"; } # moments are the stimulus

# ---- one fault -----------------------------------------------------------------------

faults=0 jobs=0 frozen='' begun=$EPOCHSECONDS trace=()

violation() {
  local kept=$build/soak-$seed i
  rm -rf "$kept"
  mkdir -p "$kept"
  cp -r "$work"/out "$work"/err "$work"/other "$work"/podbox.log "$work"/ckpt "$kept" 2>/dev/null || true
  for ((i = 0; i <= positions + 1; i++)); do
    "$podbox" ps "train-$i" >"$kept/train-$i.ps" 2>&1 || true
    "$podbox" logs "train-$i" >"$kept/train-$i.log" 2>&1 || true
    look "train-$i" # podbox exec would hang in one that is frozen
    tail -n 99 "/proc/${agent_there:-none}/root"/{etc/hosts,tmp/hostfile} >"$kept/train-$i.files" 2>&1 || true
  done
  "$podbox" list >"$kept/list" 2>&1 || true
  {
    echo "VIOLATION: $*"
    echo "seed $seed, job $jobs ($setting, $shape), fault $faults; attempt $(attempt_now); faults of this job:"
    printf '  %s\n' "${trace[@]}"
    echo "positions: ${pod_of[*]}; on none: $stand_in"
    echo "the launcher's last words and events:"
    tail -n 12 "$err"
    tail -n 12 "$events"
    echo "again: ./dev soak --seed $seed --faults $faults --pods $positions --per-job $per_job${only:+ --only $only}; kept: $kept"
  } | tee "$kept/trace" | tell
  exit 1
}

# Waits for the recovery from what began at attempt `before`, line `line`; sets recovered_ms.
recovers() {
  local effect=$1 start=$2 before=$3 line=$4 was=$3
  [ "$effect" = again ] || before=$((before - 1))
  wait_for "$bound" eval 'gone "$job" || runs '"$before" || violation "$name: no further attempt"
  recovered_ms=$(($(ms) - start))
  wait_for "$bound" eval 'gone "$job" || moves '"$before $line" || violation "$name: the job does not go on"
  [ "$effect" = again ] || recovered_ms=$(($(ms) - start))
  ! gone "$job" || violation "$name: the job ended"
  [ "$effect" != silent ] || [ "$(attempt_now)" = "$was" ] || violation "$name: attempt $was did not go on"
}

# holds LINE: what must, of a fault that began behind this line of the output.
holds() {
  local twin
  twin=$(twins "$1" "$frozen") && violation "$name: $twin"
  wait_for "$bound" eval 'gone "$job" || ranks_right' || violation "$name: too many or too few processes"
  wait_for "$bound" roll_right || violation "$name: hosts or hostfiles are not right"
  wait_for "$bound" fds_flat || violation "$name: file descriptors: ${fds[*]} before, now $(fds_now)"
}

# strike KIND POSITION: the fault itself; 1 when it had no effect.
strike() {
  mark
  "fault_$1" "$2" >>"$work/podbox.log" 2>&1
}

one_fault() {
  local start before line effect
  draw_fault
  ((++faults))
  effect=${fault_kinds[$kind]} name="$kind at $position (${pod_of[position]})"
  [ "$second" = 0 ] || name+=", $gap_ms ms later $second_kind at $second_position"
  trace+=("$faults: $name, after $after_ms ms")
  pause "$after_ms"
  before=$(attempt_now) line=$(lines_now) start=$(ms)
  strike "$kind" "$position" || violation "$name: it had no effect"
  [ "$effect" != anew ] || before=0 line=0 effect=again
  if [ "$second" = 0 ]; then
    recovers "$effect" "$start" "$before" "$line"
    holds "$line"
  else
    [ "$effect" != silent ] || effect=either
    pause "$gap_ms"
    strike "$second_kind" "$second_position" || true # nobody may be there
    recovers "$effect" "$start" "$before" "$(lines_now)"
    holds "$line"
    # What the second one ended may have been told by a line on its way: once more.
    recovers either "$start" "$(attempt_now)" "$(lines_now)"
    holds "$line"
  fi
  frozen=''
  tell_fault "$before"
}

# tell: to all who read on.
tell() { tee -a "$told" | sed "s/^/${SOAK_BED:+$SOAK_BED| }/"; }

# What a position's member was in the tree of --fanout 2 at first: one that has others below it is
# inner. Where there is a spare, members change places when one is lost.
role_of() {
  if [ "$shape" = star ]; then
    echo -
  elif is_inner "$1"; then
    echo inner
  else
    echo leaf
  fi
}

# tell_fault BEFORE
tell_fault() {
  local at=$position role more=''
  role=$(role_of "$position")
  case $kind in led | launcher | relaunch | deposed | lapse | spare_idle) at=- role=- ;; esac
  [ "$second" = 0 ] || more=", second after $gap_ms ms: $second_kind at $second_position"
  printf '%4d  %-5s %-4s  %-11s at %s %-5s  %3d -> %-3d  %6.2f s%s\n' "$faults" "$setting" "$shape" \
    "$kind" "$at" "$role" "$1" "$(attempt_now)" "$((recovered_ms / 10))e-2" "$more" | tell
}

# ---- the whole -----------------------------------------------------------------------

over() {
  [ -z "$limit" ] || [ "$faults" -lt "$limit" ] || return 0
  [ -n "$minutes" ] && [ $((EPOCHSECONDS - begun)) -ge $((minutes * 60)) ]
}

# Settings in turn, each first as a star, then as a tree.
one_job() {
  local i
  trace=() name='the start of a job'
  setting=${settings[jobs / 2 % ${#settings[@]}]}
  ((++jobs))
  fill_pool
  start_job "$([ $((jobs % 2)) = 1 ] && echo star || echo tree)" "$pause_ms"
  recovers again "$(ms)" 0 0
  # The next attempt's keepers and PMIx server stand by: agents never have more than now.
  wait_for "$bound" all_stand_by $((positions + 1)) || violation "$name: no keepers stand by"
  learn_fds
  holds 0
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

one_bed() {
  export PODBOX_BED=soak-$$
  RANDOM=$((seed % 32768))
  soak_bed "$positions" 1
  idle_right || true # the first look at descriptors
  until over; do one_job; done
}

# Beds of their own, each in a process of its own; the first violation ends all.
all_beds() {
  local bed share
  for ((bed = 1; bed <= beds; bed++)); do
    share=$((${limit:-0} / beds + (bed <= ${limit:-0} % beds)))
    SOAK_BED=$bed bash "$0" --seed $((seed + bed - 1)) ${limit:+--faults "$share"} ${minutes:+--minutes "$minutes"} \
      --pods "$positions" --per-job "$per_job" ${only:+--only "$only"} --log "$work/bed.$bed" &
    side_by_side+=($!)
  done
  for ((bed = 1; bed <= beds; bed++)); do wait -n || exit; done
  gather_beds
}

main() {
  [ -n "${SOAK_BED:-}" ] || header | tee "$told"
  if [ "$beds" = 1 ]; then one_bed; else all_beds; fi
  [ -n "${SOAK_BED:-}" ] || summary | tee -a "$told"
}

main; exit # bash has read all of this by now: a soak survives changes of its own file

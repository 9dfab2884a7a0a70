#!/usr/bin/env bats
# The rules of the house (doc/ARCHITECTURE.md) that a grep can see: who may include whom,
# one home for each foreign library, and sizes.

bats_require_minimum_version 1.5.0

setup() {
    cd "${MUSTER_SRCDIR:-$BATS_TEST_DIRNAME/../..}" || return
    production=(common hostfile wire agent launcher sidecar kernels/*/)
    production=("${production[@]%/}")
}

# may_use FOLDER USED...: sources of a folder include only those folders and themselves.
may_use() {
    local folder=$1 used
    used=$(IFS='|'; echo "$*")
    ! grep -rnE --include='*.[ch]' '^#include "[a-z]+/' "$folder" |
        grep -vE "#include \"($used)/"
}

@test "arrows between folders point down only" {
    may_use common
    may_use hostfile common
    may_use wire common hostfile
    may_use agent common hostfile wire sidecar
    may_use launcher common hostfile wire
    may_use sidecar common hostfile
    may_use kernels common
    may_use kernels/compute common
    may_use kernels/nccl common
    may_use kernels/comm common kernels/nccl
    may_use kernels/model common
    may_use kernels/train common kernels/compute kernels/comm kernels/model
    may_use kernels/infer common kernels/compute kernels/comm kernels/model
}

# one_home HEADER HOME: both as patterns.
one_home() {
    local dir files=()
    shopt -s nullglob
    for dir in "${production[@]}"; do files+=("$dir"/*.[ch]); done
    ! grep -nE "^#include <($1)" "${files[@]}" | grep -vE "^($2)"
}

@test "each foreign library has one home" {
    one_home 'libssh/' 'wire/link|wire/keyring'
    one_home 'ares' 'hostfile/dns'
    one_home 'event2/(http|listener|bufferevent|buffer)' 'common/(httpd|listener)|kernels/infer/(fetch|http|kvserve|prefill)\.c'
    one_home 'pmix' 'agent/pmix'
    one_home 'jansson' 'launcher/|hostfile/roll|common/jsonpack|kernels/infer/(generate|openai|rolefile)\.c'
    one_home 'mpi' 'kernels/comm/mpi'
}

@test "JSON comes out of jsonpack alone: a text that is no UTF-8 loses nothing" {
    ! grep -rnE --include='*.c' '\bjson_(v?pack(_ex)?|string)\(' "${production[@]}" |
        grep -v '^common/jsonpack\.c:'
}

sizes_of() {
    find "$1" -maxdepth 1 -name '*.[ch]' -exec wc -l {} +
}

@test "no source of the programs has more than 600 lines" {
    local dir
    for dir in "${production[@]}"; do
        sizes_of "$dir" | awk '$2 != "total" && $1 > 600 {print; bad = 1}
                                   END {exit bad}'
    done
}

@test "no function of the programs has more than 80 lines" {
    command -v ctags >/dev/null || skip "ctags is missing: install universal-ctags"
    local dir files=()
    for dir in "${production[@]}"; do mapfile -t -O "${#files[@]}" files < <(find "$dir" -maxdepth 1 -name '*.c'); done
    run -0 ctags -x --c-kinds=f --fields=+ne \
        --_xformat='%{end} %n %F %N' "${files[@]}"
    [ "${#lines[@]}" -gt 500 ] # ctags understood what it was asked
    awk '$1 - $2 + 1 > 80 {print $3 ":" $2 ": " $4; bad = 1} END {exit bad}' \
        <<<"$output"
}

@test "every source begins with one line that says what it is for" {
    find "${production[@]}" tests/unit tests/podbox tests/mpi -maxdepth 1 -name '*.[ch]' -print0 |
        xargs -0 awk 'FNR == 1 && !/^\/\/ / { print FILENAME ": " $0; bad = 1 } END { exit bad }'
}

no_variables_in() {
    ! grep -rnE --include='*.h' '^ *extern ' "$@" | grep -vE 'extern const .*\bconst\b'
}

@test "no header declares a variable but constants" {
    no_variables_in "${production[@]}"
}

@test "every header has a guard named after its path" {
    find "${production[@]}" -maxdepth 1 -name '*.h' -print0 | xargs -0 awk '
        /^#define MUSTER_/ { defined[FILENAME, $0] = 1 }
        END {
            for (i = 1; i < ARGC; i++) {
                guard = "MUSTER_" toupper(ARGV[i])
                gsub(/[\/.]/, "_", guard)
                if (!((ARGV[i], "#define " guard) in defined)) { print ARGV[i] ": " guard; bad = 1 }
            }
            exit bad
        }'
}

# manual_names PAGE SOURCE...: every long option of these sources stands in the page.
manual_names() {
    local page=$1 option bad=0
    shift
    for option in $(grep -hoE '^ +\{"[a-z-]+", ' "$@" | tr -d ' {",' | grep -vx np); do
        grep -q -- "\*--$option\*" "$page" || { echo "$page: --$option"; bad=1; }
    done
    [ "$bad" = 0 ]
}

@test "manual pages name every option" {
    manual_names man/muster-run.1.scd launcher/opts.c launcher/apps_opts.c launcher/roles_opts.c launcher/check_opts.c hostfile/source_opts.c launcher/foreign_opts.c
    manual_names man/musterd.8.scd agent/opts.c sidecar/write_opts.c
    local command
    for command in $(sed -nE 's/^    \{"([a-z]+)", cmd_.*/\1/p' launcher/main.c); do
        grep -qx "\*$command\*" man/muster.1.scd || { echo "man/muster.1.scd: $command"; false; }
    done
    manual_names man/muster-roll.1.scd launcher/cmd_roll.c
    manual_names man/muster-check.1.scd launcher/cmd_check.c launcher/check_opts.c
    manual_names man/muster-hostfile.1.scd launcher/cmd_hostfile.c
    manual_names man/muster-replace.1.scd launcher/cmd_replace.c
    manual_names man/muster-replace.1.scd launcher/ask_opts.c
    manual_names man/muster-status.1.scd launcher/cmd_status.c launcher/cmd_drain.c launcher/ask_opts.c
    manual_names man/muster-checks.7.scd kernels/check/*_main.c kernels/check/check_opts.c
    manual_names man/muster-train.1.scd kernels/train/opts.c
    manual_names man/muster-sidecar.8.scd sidecar/opts.c sidecar/write_opts.c hostfile/source_opts.c
    manual_names man/muster-infer.1.scd kernels/infer/opts.c
}

@test "the manual page of the checks has every threshold" {
    local name value bad=0
    while read -r name value; do
        grep -A 1 "^|  $name\$" man/muster-checks.7.scd | grep -qx ":  $value" || { echo "$name $value"; bad=1; }
    done < <(grep -E '^[a-z]' kernels/check/thresholds)
    [ "$(grep -cE '^[a-z]' kernels/check/thresholds)" -ge 12 ]
    [ "$bad" = 0 ]
}

@test "the manual page names every event of --events, and each of its fields" {
    python3 - launcher/*.c <<'END'
import re, sys

# What the code writes: the words in front of jsonpack() are names, those behind its format fields.
written = {}
def words(code): return re.findall(r'"([a-z0-9_-]+)"', code)
def fields(code): return words(code.split("jsonpack(", 1)[1])
for path in sys.argv[1:]:
    for call in re.findall(r"\bevents_write\(\s*[^;]*;", open(path).read()):
        names, packed = call.split("jsonpack(")[0], "jsonpack(" in call
        for name in words(names):
            written[name] = fields(call) if packed else fields(open("launcher/source_json.c").read())

# What the page says: "*name*, *name*", and below it text with "_field_".
section = open("man/muster-run.1.scd").read().split("\n# EVENTS\n")[1].split("\n# ")[0]
told = {}
for head, text in re.findall(r"^(\*.*\*)\n((?:\t.*\n)+)", section, re.M):
    for name in re.findall(r"\*([a-z_-]+)\*", head):
        told[name] = set(re.findall(r"\b_([a-z0-9]+)_\b", text))

assert len(written) > 20, written
missing = [f"{n}: {f}" for n, of in written.items() for f in of if f not in told.get(n, ())]
missing += [f"{n}: not in the page" for n in written if n not in told]
missing += [f"{n}: no such event" for n in told if n not in written]
sys.exit("\n".join(missing) or 0)
END
}

# case_rows: "ID FILE NOTE..." of each row of tests/CASES.md; FILE is - where there is none.
case_rows() {
    awk -F ' *[|] *' '$2 ~ /^[a-z]+-[0-9]+$/ { print $2, ($4 == "" ? "-" : $4), $5 }' tests/CASES.md
}

@test "every case of the field is tested under its id, or says why not" {
    local id file note bad=0 rows=0
    while read -r id file note; do
        rows=$((rows + 1))
        if [ "$file" = - ]; then
            [ "${#note}" -ge 20 ] || { echo "$id: neither a test nor a reason"; bad=1; }
        else
            grep -qiE "case $id\b" "tests/$file" || { echo "$id: not in tests/$file"; bad=1; }
        fi
    done < <(case_rows)
    [ "$rows" -ge 96 ]
    [ "$(case_rows | cut -d' ' -f1 | sort | uniq -d)" = '' ]
    [ "$bad" = 0 ]
}

# fault_cells: "FILE: NAME" of each test that tests/FAULTS.md names.
fault_cells() {
    awk -F ' *[|] *' '/^[|] / && $2 != "fault" { print $3; print $4 }' tests/FAULTS.md |
        sed 's/; \([a-z_]*: \)/\n\1/g; s/^(.*//' | sed '/^$/d; s/;$//' | sort -u
}

@test "every fault is struck by the tests that its row names, or says why not" {
    local file name cells=0 bad=0
    while IFS=: read -r file name; do
        cells=$((cells + 1))
        grep -qF "@test \"${name# }" "tests/e2e/$file.bats" || { echo "$file: no test '${name# }...'"; bad=1; }
    done < <(fault_cells)
    [ "$cells" -ge 15 ]
    [ "$(grep -c '^| [^|]* | [^|]* | [^|]* |$' tests/FAULTS.md)" -ge 33 ] # a row for each fault
    [ "$bad" = 0 ]
}

@test "cases that tests name are in the table" {
    local id bad=0
    for id in $(grep -rhoiE --include='*.bats' --include='*.c' 'case (hf|lau|ssh|pmx|hst|cfg|dns|rst)-[0-9]+' tests |
        sed 's/^[Cc]ase //' | sort -u); do
        case_rows | grep -q "^$id " || { echo "$id is not in tests/CASES.md"; bad=1; }
    done
    [ "$bad" = 0 ]
}

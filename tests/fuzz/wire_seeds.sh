#!/usr/bin/env bash
# Makes tests/cases/wire, claims and takeovers anew, from messages as text (frames.c, claims.c and takeover.c
# say what the inputs are). Needs protoc-c.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
wire=$top/tests/cases/wire claims=$top/tests/cases/claims takeovers=$top/tests/cases/takeovers
mkdir -p "$wire" "$claims" "$takeovers"

encode() { protoc-c --encode="muster.$1" --proto_path="$top" "$top/wire/muster.proto"; }

# byte N...: these bytes
byte() { local n; for n in "$@"; do printf '%b' "\\x$(printf %02x "$n")"; done; }

# message NUMBER TYPE <TEXT: as the table in frames.c counts the types
message() { { byte "$1"; encode "$2"; } >"$wire/$2"; }

# frame KIND TYPE <TEXT: a header, and the body
frame() {
  local body len
  body=$(mktemp)
  encode "$2" >"$body"
  len=$(stat -c %s "$body")
  byte 0 0 $((len >> 8)) $((len & 255)) 0 "$1" 0 0 # length, kind, flags
  byte 0 0 0 0 0 0 0 3 0 0 0 0 0 0 0 2             # seq, ack
  byte 1 2 3 4 5 6 7 8 0 0 0 1 0 0 0 1 0 0 0 2 0 0 0 0 # job, term, attempt, src, dst
  cat "$body"
  rm "$body"
}

# record STEP <TEXT: a step of claims.c, and its record
record() {
  local body len
  body=$(mktemp)
  encode Record >"$body"
  len=$(stat -c %s "$body")
  byte "$1" $((len >> 8)) $((len & 255))
  cat "$body"
  rm "$body"
}

message 0 Hello <<<'major: 1 version: "0.1.0" role: "agent" incarnation: "0123456789abcdef" hostname: "train-0" cpus: 8
  session: "0123456789abcdef" grace_ms: 5000 resumes: true resume { round: 2 received { control: 7 bulk: 9 } }'
message 3 Attach <<<'fanout: 64 members { name: "train-0.train" address: "10.0.0.1" port: 7822 }
  members { name: "train-1.train" address: "fd00::5" port: 22 user: "mpi" } orphan_grace_ms: 15000'
message 7 Roll <<<'job_key: "train" generation: 6 pods: true
  members { name: "train-0.train" address: "10.0.0.1" port: 7822 present: true incarnation: "0123456789abcdef" slots: 9 }
  members { name: "train-1.train" } positions { member: 1 slots: 8 } positions { member: 0 slots: 8 }'
message 9 Prepare <<<'nspace: "train.1" job_key: "train" positions { vertex: 1 name: "train-0" address: "10.0.0.1" ranks: 0 ranks: 1 } apps { argv: "python" argv: "train.py" env: "A=b" ranks: 2 }'
message 21 Coll <<<'kind: 1 procs { nspace: "train.1" rank: 4294967295 } data: "abc"'
message 25 Names <<<'op: 1 items { key: "port" }'
message 28 SpawnRequest <<<'id: 7 apps { argv: "worker" }'
message 31 Answer <<<'id: 7'
message 32 Account <<<'number: 3 standings { name: "train-1" lost: true } budget { quick: 1 rank: -1 }'
message 33 Roles <<<'file: "{}" signal: 10'
message 34 Spawn <<<'ranks { rank: 1 env: "A=b" } programs { path: "/bin/true" argv: "true" } output_credit: 65536'
message 35 PmixSetup <<<'nspace: "train.1" positions { vertex: 1 name: "train-0" address: "10.0.0.1" ranks: 0 } app_ranks: 1'
message 38 PmixLog <<<'proc { nspace: "train.1" rank: 0 } stream: 1 text: "abc"'
message 39 Inspect <<<'number: 3 checks { name: "cpu" argv: "/opt/cpucheck" argv: "--deadline" argv: "9" } timeout_ms: 60000 member: "train-0.train"'
message 40 Verdict <<<'number: 3 ends { name: "cpu" status: 256 output: "{\"check\": \"cpu\", \"verdict\": \"fail\"}" took_ms: 900 } ends { name: "x" error: "not found" }'

{
  byte 255
  frame 13 Reattach <<<'vertex: 2 address: "10.0.0.9" port: 7822 generation: 4'
  frame 30 Output <<<'data: "hello\n"'
  frame 29 Done <<<'code: 137 text: "rank 3 was killed"'
} >"$wire/stream"

held='term: 3 launcher: "somebody else..." host: "train-0" age_ms: 5
  progress { term: 3 attempt: 2 argv: "train.py" positions { name: "train-0" address: "10.0.0.1" }
  positions { name: "train-9" address: "10.0.0.2" incarnation: "0123456789abcdef" } positions { name: "x" address: "x" } account { budget { restarts_ms: 9 quick: 1 rank: -1 } }'
# Members are in the upper four bits: record 0, denied 1, granted 2, lost 3, judge 4, remember 5, judge late 6,
# again 7, prepared 8, acked 9, go 10.
{
  record 0 <<<"$held }"
  record 16 <<<''
  record 32 <<<'term: 4'
  byte 4 2 18 34
  record 17 <<<'term: 9'
} >"$claims/reigns"
{
  record 0 <<<"$held done: true code: 3 text: \"rank 1\" }"
  record 16 <<<''
  record 32 <<<''
  byte 4
} >"$claims/over"
{
  record 5 <<<"$held }"
  record 5 <<<'term: 2'
  record 0 <<<'term: 1'
  byte 3
  record 0 <<<''
  record 16 <<<"$held }"
  record 32 <<<''
  byte 4
  record 33 <<<'term: 4 launcher: "a rival ........"'
} >"$claims/remembers"
{
  record 0 <<<"$held }"
  record 16 <<<"$held }"
  byte 6 2 18 8 9 25 10
  record 33 <<<'term: 9 launcher: "a rival ........"'
  byte 7 2 18 34 24 9 25 41 10 3
} >"$claims/late"
{
  record 0 <<<'term: 4294967294'
  record 16 <<<''
  record 32 <<<''
  byte 4 2 6
} >"$claims/spent"

encode Record <<<"$held }" >"$takeovers/held"
encode Record <<<'term: 3 progress { positions { name: "train-2" incarnation: "0123456789abcdef" }
  positions { name: "train-2" incarnation: "fedcba9876543210" } positions { name: "train-2" }
  account { budget { restarts_ms: 70000 restarts_ms: 5 restarts_ms: 0 quick: 4294967295 same: 7 rank: 2 code: 9 } } }' \
  >"$takeovers/spent"
encode Record <<<'progress { account { budget { restarts_ms: 18446744073709551615 rank: -9223372036854775808 } } }' \
  >"$takeovers/long_ago"

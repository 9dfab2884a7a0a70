#!/usr/bin/env bash
# Makes tests/cases/wire and tests/cases/claims anew, from messages as text (frames.c and claims.c
# say what the inputs are). Needs protoc-c.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
wire=$top/tests/cases/wire claims=$top/tests/cases/claims
mkdir -p "$wire" "$claims"

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

{
  byte 255
  frame 13 Reattach <<<'vertex: 2 address: "10.0.0.9" port: 7822 generation: 4'
  frame 30 Output <<<'data: "hello\n"'
  frame 29 Done <<<'code: 137 text: "rank 3 was killed"'
} >"$wire/stream"

held='term: 3 launcher: "somebody else..." host: "train-0" age_ms: 5
  progress { term: 3 attempt: 2 argv: "train.py" positions { name: "train-0" address: "10.0.0.1" incarnation: "0123456789abcdef" }
  positions { name: "train-1" address: "10.0.0.2" } positions { name: "x" address: "x" } budget { restarts_ms: 9 quick: 1 rank: -1 }'
# Members are in the upper four bits: record 0, denied 1, granted 2, lost 3, judge 4, remember 5.
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

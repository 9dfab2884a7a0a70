#!/usr/bin/env bats
# muster-infer on this machine: the same tokens on any ranks and in any batch, and over HTTP.

setup() {
  load helper
  load muster
  infer=$MUSTER_BUILDDIR/kernels/infer/muster-infer
  cd "$BATS_TEST_TMPDIR"
  "$infer" --make-random layers=3,length=64 --seed 7 model
}

teardown() {
  if [ -n "${server:-}" ]; then kill "$server" 2>/dev/null && wait "$server" || true; fi
}

# on GRID ARGS...: muster-infer on the ranks of a grid.
on() {
  local grid=$1
  shift
  timeout 100 "$muster" run --grid "$grid" "$infer" model "$@"
}

texts=(--prompt 'In the beginning' --prompt x --prompt 'a longer prompt, in several pieces' --json
  --max-tokens 24 --rows 8 --slots 4)

@test "tokens are the same on 1 to 4 ranks, tensor-parallel, in a pipeline, and both" {
  local grid how
  for how in '--temperature 0' '--temperature 0.9 --top-p 0.95 --seed 3'; do
    # shellcheck disable=SC2086  # several words
    "$infer" model "${texts[@]}" $how >alone
    [ "$(sort -u alone | wc -l)" = 3 ]
    for grid in tp=2 tp=1,pp=2 tp=1,pp=3 tp=2,pp=2; do
      # shellcheck disable=SC2086
      on "$grid" "${texts[@]}" $how >"$grid"
      cmp alone "$grid"
    done
  done
}

@test "what a rank posts to another does not wait for it" {
  run -0 timeout 60 "$muster" run -n 2 "$MUSTER_BUILDDIR/tests/unit/post_probe" posted
  [ "$output" = 'nobody waited, 0 wrong' ]
}

@test "tokens are the same alone and in a batch, whatever the size of its steps" {
  local prompt rows
  for prompt in 'In the beginning' x 'a longer prompt, in several pieces'; do
    "$infer" model --prompt "$prompt" --json --max-tokens 24
  done | sed 's/"index":0/"index":N/' >alone
  for rows in 1 5 64; do
    "$infer" model "${texts[@]}" --rows $rows --slots 3 | sed 's/"index":[0-9]/"index":N/' >batch
    cmp alone batch
  done
}

@test "ranks that do not divide heads, rows and layers evenly give the same tokens" {
  "$infer" --make-random dim=48,hidden=50,layers=5,heads=6,kv_heads=3,length=40,shared=1 --seed 1 model
  "$infer" model "${texts[@]}" >alone
  on tp=2,pp=2 "${texts[@]}" >four
  cmp alone four
}

# A tokenizer.bin as llama2.c's trainer makes them: 3 special tokens, 256 of bytes, pieces.
write_tokenizer() {
  python3 - <<'END'
import struct
pieces = [(0, b"<unk>"), (0, b"\n<s>\n"), (0, b"\n</s>\n")]
pieces += [(0, b"<0x%02X>" % i) for i in range(256)]
words = [b" h", b"el", b"lo", b" hel", b" hello", b" ", b"h", b"e", b"l", b"o", b"w", b"r", b"d"]
pieces += [(-i, w) for i, w in enumerate(words)]
with open("tokenizer.bin", "wb") as f:
    f.write(struct.pack("<i", max(len(p) for _, p in pieces)))
    for score, piece in pieces:
        f.write(struct.pack("<fi", score, len(piece)) + piece)
END
}

@test "a model with a tokenizer.bin goes on in its tokens; without it that is said" {
  write_tokenizer
  "$infer" --make-random vocab=272,length=64 model
  "$infer" model --tokenizer tokenizer.bin --prompt hello --json --max-tokens 9 >alone
  [ "$(grep -o '"token_ids":\[.*\]' alone | tr -cd , | wc -c)" = 8 ]
  on tp=2 --tokenizer tokenizer.bin --prompt hello --json --max-tokens 9 | cmp alone -
  run -1 "$infer" model --prompt hello
  [[ "$output" == *"model has a vocabulary of 272 tokens"*"--tokenizer FILE"* ]]
  truncate -s -1 tokenizer.bin
  run -1 "$infer" model --tokenizer tokenizer.bin --prompt hello
  [[ "$output" == *"tokenizer.bin: offset "* ]]
}

@test "a bad checkpoint is one error that says where, on any number of ranks" {
  truncate -s -4 model
  local size
  size=$(stat -c %s model)
  run -1 "$infer" model --prompt x
  [ "${#lines[@]}" = 1 ]
  [[ "$output" == "muster-infer: model: offset $size: the file ends here"*"dim 64"* ]]
  run on tp=2,pp=2 --prompt x
  [ "$status" = 1 ]
  [ "$(grep -c '^muster-infer: model: offset' <<<"$output")" = 1 ]
  run -1 "$infer" /etc/passwd --prompt x
  [[ "$output" == *"/etc/passwd: offset 0: no head of a llama2.c checkpoint"* ]]
  run -1 "$infer" nowhere --prompt x
  [[ "$output" == *"nowhere: it cannot be opened: No such file"* ]]
}

@test "ranks with several models are named, whether they have the same shape or not" {
  local other
  cp model model-0
  for other in layers=3,length=64 layers=3,dim=32,length=64; do
    "$infer" --make-random "$other" --seed 8 model-1
    # shellcheck disable=SC2016  # the rank's own variable
    run timeout 60 "$muster" run -n 2 bash -c 'exec "$0" "model-$RANK" --prompt x' "$infer"
    [ "$status" = 1 ]
    [[ "$output" == *"muster-infer: rank 1: another model (model-0) than rank 0's: all ranks need the same"* ]]
  done
}

@test "ranks that fit no grid of the model are told which" {
  run on tp=8 --prompt x
  [ "$status" = 1 ]
  [[ "$output" == *"8 tensor-parallel ranks"*"4 heads of keys"* ]]
  run timeout 60 "$muster" run -n 2 "$infer" --tp 4 --prompt x model
  [ "$status" = 1 ]
  [[ "$output" == *"2 ranks do not make a grid"* ]]
  run -125 "$infer" model
  [[ "$output" == *"--prompt TEXT or --listen PORT"* ]]
}

@test "a model that muster-train made goes on with what it has learnt" {
  local i
  for i in {1..300}; do echo 'the cat sat on the mat. '; done >text
  timeout 100 "$MUSTER_BUILDDIR/kernels/train/muster-train" --text text --dir train --export learnt --seq-len 48 --steps 150 \
    --batch 4 --dim 32 --hidden 64 --layers 2 --heads 2 --kv-heads 2
  "$infer" learnt --prompt 'the cat' --max-tokens 40 >alone
  [ "$(grep -oE 'the (cat|mat)' alone | wc -l)" -ge 2 ]
  timeout 60 "$muster" run -n 2 "$infer" learnt --prompt 'the cat' --max-tokens 40 | cmp alone -
}

# serve GRID ARGS...: in the background; sets server, url.
serve() {
  local grid=$1
  shift
  "$muster" run --grid "$grid" "$infer" model --listen 0 --model-name tiny "$@" >server.log 2>&1 3>&- &
  server=$!
  wait_for 60 grep -q 'http: listens at' server.log
  url=http://$(sed -n 's/.*http: listens at //p' server.log)
}

ask() { curl -sS -m 30 "$url/v1/completions" -d "$1"; }
tokens_of() { grep -o '"token_ids":\[[0-9,]*\]'; }

@test "completions over HTTP have the tokens of one rank, whole and streamed, many at once" {
  serve tp=2,pp=2 --slots 2 --rows 8
  [ "$(curl -sS -m 30 "$url/health")" = '{"status":"ok"}' ]
  [[ "$(curl -sS -m 30 "$url/v1/models")" == *'"id":"tiny"'* ]]
  "$infer" model --prompt 'In the beginning' --prompt x --json --max-tokens 24 | tokens_of >want
  ask '{"model": "tiny", "prompt": ["In the beginning", "x"], "max_tokens": 24,
        "temperature": 0, "return_token_ids": true}' >whole
  tokens_of <whole | cmp want -
  grep -q '"usage":{"prompt_tokens":17,"completion_tokens":48,"total_tokens":65}' whole
  local i jobs=()
  for i in 1 2 3 4 5; do
    ask '{"prompt": "x", "max_tokens": 24, "temperature": 0, "stream": true,
          "return_token_ids": true}' >"stream$i" 3>&- &
    jobs+=($!)
  done
  wait "${jobs[@]}"
  for i in 1 2 3 4 5; do
    [ "$(grep -c '^data: {' "stream$i")" = 24 ]
    [ "$(tail -n 2 "stream$i" | head -n 1)" = 'data: [DONE]' ]
    [ "$(tokens_of <"stream$i" | tr -dc '0-9\n' | paste -sd,)" = "$(tail -n 1 want | tr -dc '0-9,')" ]
  done
  kill -TERM "$server"
  ends_within 30 "$server"
  [ "$code" = 143 ]
  server=
}

@test "a seed gives the same draw over HTTP as on the command line" {
  serve tp=2
  "$infer" model --prompt x --json --max-tokens 20 --temperature 0.8 --top-p 0.9 --seed 11 | tokens_of >want
  ask '{"prompt": "x", "max_tokens": 20, "temperature": 0.8, "top_p": 0.9, "seed": 11,
        "return_token_ids": true}' | tokens_of | cmp want -
}

# refused STATUS PART BODY
refused() {
  [ "$(curl -sS -m 30 -o answer -w '%{http_code}' "$url/v1/completions" -d "$3")" = "$1" ]
  grep -q -- "$2" answer
}

@test "requests that cannot be served are refused with the field and the reason" {
  serve tp=1 --waiting 2
  refused 400 '"param":"prompt"' '{}'
  refused 400 'no JSON' '{"prompt": '
  refused 400 'context 64' "{\"prompt\": \"$(printf '%065d' 0)\"}"
  refused 400 'token 256: the model has 256' '{"prompt": [1, 256]}'
  refused 404 model_not_found '{"prompt": "x", "model": "gpt"}'
  refused 429 'try again later' '{"prompt": ["a", "b", "c"]}'
  [ "$(curl -sS -m 30 -o answer -w '%{http_code}' "$url/v1/chat/completions" -d '{}')" = 404 ]
  [ "$(head -c 5000000 /dev/zero | curl -sS -m 30 -o answer -w '%{http_code}' "$url/v1/completions" \
    --data-binary @-)" = 413 ]
}

@test "a client that goes away gives its slot back" {
  "$infer" --make-random layers=2,length=60000 model
  serve tp=1 --slots 1
  # It would go on for much longer than this test.
  ask '{"prompt": "x", "max_tokens": 60000, "temperature": 0, "stream": true}' >stream 3>&- &
  local client=$!
  wait_for 30 grep -q '^data: {' stream
  kill "$client"
  wait "$client" || true
  [[ "$(ask '{"prompt": "y", "max_tokens": 2}')" == *'"finish_reason":"length"'* ]]
}

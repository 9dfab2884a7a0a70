#!/usr/bin/env bats
# The health checks as programs: their one JSON object, exit code, deadline, and what they find.

setup() {
  load helper
  checks=$MUSTER_BUILDDIR/kernels/check
  cd "$BATS_TEST_TMPDIR" || return
  : >log
}

teardown() {
  [ -z "${server:-}" ] || kill "$server" 2>/dev/null || :
}

# field NAME: the value of the object in $output, without quotes.
field() {
  grep -oE "\"$1\":(\"[^\"]*\"|[^,}]*)" <<<"$output" | head -1 | sed -E 's/^"[a-z_]*"://; s/^"(.*)"$/\1/'
}

# check NAME OPTION...
check() {
  run --separate-stderr timeout 60 "$checks/$1" "${@:2}"
}

# says CODE VERDICT WORD...: one line, an object, and the words in its reason.
says() {
  local word
  [ "$status" = "$1" ]
  [ "${#lines[@]}" = 1 ]
  [[ "$output" == '{"check":'*'}' ]]
  [ "$(field verdict)" = "$2" ]
  for word in "${@:3}"; do [[ "$(field why)" == *"$word"* ]]; done
}

@test "cpucheck: passes on this machine, with what it did" {
  check cpucheck --memory 32M --rounds 2 --deadline 50
  says 0 pass
  [ "$(field cores)" -ge 1 ]
  [ "$(field memory_mib)" = 32.0 ]
}

@test "cpucheck: never takes what is not free" {
  check cpucheck --memory 900T
  says 2 could-not-run "can be had"
  check cpucheck --memory 91%
  [ "$status" = 2 ]
  [[ "$stderr" == *"--memory 91%: give a size"* ]]
}

@test "cpucheck: what it cannot do in time it says" {
  check cpucheck --memory 32M --rounds 1000000 --deadline 1
  says 2 could-not-run "the time was over in matrix products"
}

@test "thresholds: a file overrides them, and its errors say where" {
  echo 'cpu_copy_min_gb_s 100000' >table
  check cpucheck --memory 32M --rounds 1 --deadline 50 --thresholds table
  says 1 fail "less than cpu_copy_min_gb_s 100000"
  printf 'slow_factor 2\nslow_facter 3\n' >table
  check cpucheck --thresholds table
  [ "$status" = 2 ]
  [[ "$stderr" == *"table:2: 'slow_facter' is no threshold"* ]]
}

# nv PLAN OPTION...: nvprobe with the stand-in for NVML.
nv() {
  export FAKE_NVML=$1
  check nvprobe --library "$MUSTER_BUILDDIR/tests/unit/libfakenvml.so" --kernel-log log "${@:2}"
}

# nothing_known WORD...: it could not run where an NVIDIA device is here, and else has nothing to check.
nothing_known() {
  if compgen -G '/dev/nvidia*' >/dev/null || grep -qsx 0x10de /sys/bus/pci/devices/*/vendor; then
    says 2 could-not-run "$@"
  else
    says 3 not-here 'no NVIDIA device is here'
  fi
}

@test "nvprobe: without NVML or a driver it could not run, or there is nothing to check" {
  check nvprobe --library ./no-such-library.so
  nothing_known "no NVML here"
  nv "fail=Init:0:9"
  nothing_known "Driver Not Loaded"
}

@test "nvprobe: GPUs that are expected, and none is here" {
  ! compgen -G '/dev/nvidia*' >/dev/null || skip "there is a GPU"
  check nvprobe --library ./no-such-library.so --expect 2
  says 1 fail 'no NVIDIA device is here, and 2 should be'
  MUSTER_CHECK_GPUS=8 check nvprobe --library ./no-such-library.so
  says 1 fail 'and 8 should be'
  NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b check nvprobe --library ./no-such-library.so
  says 1 fail 'and 2 should be'
}

@test "nvprobe: eight good GPUs" {
  nv "" --expect 8
  says 0 pass
  [ "$(field count)" = 8 ]
  [ "$(grep -o '"uuid":"GPU-' <<<"$output" | wc -l)" = 8 ]
}

@test "nvprobe: a missing GPU, and none at all" {
  nv "count=7" --expect 8
  says 1 fail "7 of 8 GPUs are there"
  nv "count=0"
  nothing_known "no GPU"
}

@test "nvprobe: each fault of a GPU is one, under its number" {
  local plan word
  while IFS='|' read -r plan word; do
    echo "$plan"
    nv "$plan"
    says 1 fail "device 3: $word"
  done <<'PLANS'
set=RemappedRows:3:1|a row could not be remapped
set=RemapPending:3:1|a row waits to be remapped
set=RetiredPagesPendingStatus:3:1|a page waits to be retired
set=RetiredPages:3:40|80 pages are retired
set=Uncorrected:3:1|1 uncorrected ECC errors
set=CurrPcieLinkWidth:3:8|its PCIe link has 8 lanes of 16
set=Temperature:3:87|87 degrees Celsius
set=ThrottleReasons:3:64|its clocks are held down by the hardware (heat)
fail=Temperature:3:15|nvmlDeviceGetTemperature: GPU is lost (15)
fail=Handle:3:15|nvmlDeviceGetHandleByIndex_v2: GPU is lost (15)
xid=Event:3:79|Xid 79 while it was looked at (reboot)
PLANS
}

@test "nvprobe: what is no fault is none: unsupported, corrected, idle, an application's Xid" {
  nv "fail=EccMode:1:3 fail=RemappedRows:2:3 set=Corrected:3:5000 xid=Event:4:31 set=ThrottleReasons:5:5"
  says 0 pass
}

@test "nvprobe: two faults at once are both counted" {
  nv "set=RemappedRows:2:1 set=CurrPcieLinkWidth:6:4"
  says 1 fail "device 2: a row could not be remapped" "(and 1 more)"
}

@test "nvprobe: a call that hangs is a verdict, and says which" {
  nv "hang=RemappedRows:2" --deadline 0.5
  says 1 fail "it hangs (deadline: 0.5 s) in: device 2: nvmlDeviceGetRemappedRows"
  nv "hang=Init:0" --deadline 0.5
  says 1 fail "nvmlInit_v2"
  nv "hang=Handle:5" --deadline 0.5
  says 1 fail "device 5: nvmlDeviceGetHandleByIndex_v2"
}

@test "nvprobe: Xids in the kernel's log count for their GPU, the old ones as their kind says" {
  echo '4,1,1000000,-;NVRM: Xid (PCI:0000:33:00): 79, GPU has fallen off the bus.' >log
  nv ""
  says 1 fail "device 3: Xid 79 in the kernel's log (reboot)"
  echo '4,1,1000000,-;NVRM: Xid (PCI:0000:77:00): 79, not ours' >log
  nv ""
  says 0 pass
  echo 'xid_window_s 0' >table # all that was before is old
  echo '4,1,1000000,-;NVRM: Xid (PCI:0000:33:00): 48, DBE' >log
  nv "" --thresholds table
  says 0 pass
  echo 'xid_window_s 1000000000' >table
  nv "" --thresholds table
  says 1 fail "device 3: Xid 48 in the kernel's log (workflow)"
}

@test "gpucheck: without a driver it could not run" {
  [ -x "$checks/gpucheck" ] || skip "no gpucheck: there was no nvcc when this was built"
  [ ! -e /dev/nvidiactl ] || skip "there is a GPU"
  check gpucheck
  nothing_known "cudaGetDeviceCount"
}

# serve OPTION...: netcheck at loopback in the background; sets server and port.
serve() {
  MUSTER_CHECK_TOKEN=token-of-the-pair timeout 60 "$checks/netcheck" --serve 127.0.0.1:0 "$@" \
    >served 2>listening 3>&- &
  server=$!
  wait_for 30 grep -q 'listening on' listening
  port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\)$/\1/p' listening)
}

served() {
  status=0
  wait "$server" || status=$?
  server=
  output=$(<served)
  lines=("$output")
}

@test "netcheck: a pair passes, and both ends say the same" {
  serve --deadline 50 --transfer 0.1
  MUSTER_CHECK_TOKEN=token-of-the-pair check netcheck --to "127.0.0.1:$port" --deadline 50 --transfer 0.1
  says 0 pass
  [ "$(field outcome)" = ok ]
  local rtt mb
  rtt=$(field rtt_us) mb=$(field mb_s)
  served
  says 0 pass
  [ "$(field rtt_us)" = "$rtt" ]
  [ "$(field mb_s)" = "$mb" ]
}

@test "netcheck: a stranger is refused, and keeps nobody waiting" {
  serve --deadline 50 --transfer 0.1
  exec 4<>"/dev/tcp/127.0.0.1/$port" # says nothing
  MUSTER_CHECK_TOKEN=token-of-somebody check netcheck --to "127.0.0.1:$port" --deadline 20
  says 2 could-not-run "does not take the token"
  MUSTER_CHECK_TOKEN=token-of-the-pair check netcheck --to "127.0.0.1:$port" --deadline 50 --transfer 0.1
  exec 4>&-
  says 0 pass
  served
  says 0 pass
  [ "$(field strangers)" = 2 ]
}

@test "netcheck: nobody there, no token, no address" {
  MUSTER_CHECK_TOKEN=token-of-the-pair check netcheck --to 127.0.0.1:1 --deadline 0.5
  says 2 could-not-run "nobody listens there"
  [ "$(field outcome)" = not-run ]
  MUSTER_CHECK_TOKEN=token-of-the-pair check netcheck --serve 127.0.0.1:0 --deadline 0.5
  says 2 could-not-run "nobody came with the token"
  check netcheck --to 127.0.0.1:1
  [ "$status" = 2 ]
  [[ "$stderr" == *"no token: set"* ]]
  check netcheck --to 127.0.0.1:1 --token-file nowhere
  [[ "$stderr" == *"--token-file nowhere cannot be read: No such file"* ]]
  MUSTER_CHECK_TOKEN=short check netcheck --to 127.0.0.1:1
  [[ "$stderr" == *"a token is 8 to 128 letters"* ]]
  MUSTER_CHECK_TOKEN=token-of-the-pair check netcheck --to localhost:1
  [[ "$stderr" == *"'localhost:1': give an address and a port"* ]]
}

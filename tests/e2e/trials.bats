#!/usr/bin/env bats
# ./dev trials: its judge, and a few trials of a seed that is told.

setup() { load helper; }

@test "trials: the judge sees each kind of wrong blame, and draws are repeatable" {
  run -0 timeout 60 python3 -B -m unittest discover -s "$MUSTER_SRCDIR/tests/trials"
}

@test "trials: five sets of faults, planted at random: they are blamed, and nobody else" {
  local why
  why=$(bed_missing)
  [ -z "$why" ] || skip "$why"
  timeout 300 python3 -B "$MUSTER_SRCDIR/tests/trials/run.py" --trials 5 --beds 2
}

#!/usr/bin/env python3
"""./dev trials: faults are planted on emulated pods at random, and `muster check` has to blame
exactly them.

Each trial draws a group, none to two faults and their places (faults.py), plants them from outside of
what is checked, runs `muster check --json`, and compares (judge.py). The same seed and number draw
the same trial. A wrong blame is told with its JSON; then the exit code is 1.
"""
import argparse
import collections
import json
import multiprocessing
import os
import queue
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import bed
import faults
import judge

TRIES = 10  # of one trial, as long as a hand misses its moment
TOP = Path(__file__).resolve().parents[2]


def arguments():
    p = argparse.ArgumentParser(prog="./dev trials", description=__doc__.split("\n\n")[1],
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=int(time.time()), metavar="S",
                   help="what is drawn (default: the time)")
    p.add_argument("--trials", type=int, default=20, metavar="N", help="so many (20)")
    p.add_argument("--first", type=int, default=1, metavar="K",
                   help="number of the first one (1): --first K --trials 1 is trial K again")
    p.add_argument("--beds", type=int, default=1, metavar="B", help="so many beds of pods side by side (1)")
    p.add_argument("--pods", type=int, default=6, metavar="P",
                   help="groups have up to so many nodes (6)")
    p.add_argument("--only", choices=sorted(faults.KINDS), metavar="KIND",
                   help="faults of one kind: " + ", ".join(sorted(faults.KINDS)))
    p.add_argument("--log", metavar="FILE", help="keep in FILE what is told")
    a = p.parse_args()
    if a.trials < 1 or a.first < 1 or a.beds < 1 or not 4 <= a.pods <= 64:
        p.error("--trials, --first and --beds: 1 or more; --pods: 4 to 64")
    return a


def missing():
    """Why no bed can be made here; None: it can."""
    if os.geteuid() != 0:
        return "podbox needs root"
    for tool in ("nsenter", "tc", "nft"):
        if not any(os.access(f"{d}/{tool}", os.X_OK) for d in os.environ["PATH"].split(":")):
            return f"{tool} is missing: ./dev deps installs it"
    return None


# ---- one trial --------------------------------------------------------------------------

def one_trial(place, args, number):
    """What became of it, as a dictionary."""
    begun = time.monotonic()
    for tries in range(1, TRIES + 1):
        trial = faults.draw(args.seed, number, args.pods, args.only)
        report, code, words, struck = place.check(trial)
        if struck or report is None:
            break
    if report is None:
        wrong = [f"it printed no JSON; exit code {code}; its last words: {words[-300:].strip()}"]
    elif not struck:
        wrong = [f"a hand missed its moment {TRIES} times"]
    else:
        wrong = judge.violations(trial.nodes, trial.faults, report, code)
    return {"number": number, "setting": trial.setting.name, "nodes": trial.nodes,
            "planted": [f.text() for f in trial.faults],
            "kinds": [(f.kind, f.above) for f in trial.faults],
            "blamed": judge.blamed_text(report) if report else "nobody", "tries": tries,
            "seconds": time.monotonic() - begun, "wrong": wrong, "code": code,
            "report": report, "words": words, "thresholds": trial.bench.thresholds}


def work(args, number, left, results):
    """A bed's process: trials, as long as there are some."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with bed.Bed(str(args.build), f"trials-{os.getppid()}-{number}", args.pods) as place:
            while True:
                with left.get_lock():
                    mine = left.value
                    left.value += 1
                if mine >= args.first + args.trials:
                    return
                results.put(one_trial(place, args, mine))
    except Exception:  # told by the parent, which ends the others
        results.put({"error": traceback.format_exc()})


# ---- what is told -------------------------------------------------------------------------

class Log:
    def __init__(self):
        self.head, self.lines, self.tail = [], {}, []

    def say(self, text, into):
        into.append(text)
        print(text, flush=True)

    def tell(self, r):
        planted = "; ".join(r["planted"]) or "nothing"
        again = f", {r['tries']} tries" if r["tries"] > 1 else ""
        mark = "WRONG" if r["wrong"] else "ok"
        line = (f"{r['number']:4d} {mark:5s} {r['setting']:5s} {r['nodes']} nodes {r['seconds']:5.1f} s"
                f"{again}  {planted} -> {r['blamed']}")
        self.lines[r["number"]] = line
        print(line, flush=True)

    def write(self, path):
        texts = self.head + [self.lines[k] for k in sorted(self.lines)] + self.tail
        Path(path).write_text("\n".join(texts) + "\n")


def header(args, log):
    describe = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty", "--tags"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    log.say(f"trials: {describe.stdout.strip() or 'of no checkout'}", log.head)
    log.say(f"seed {args.seed}, {args.trials} from number {args.first}, beds {args.beds}, up to "
            f"{args.pods} nodes{', only ' + args.only if args.only else ''}", log.head)
    log.say("each line: number, setting (tests/trials/faults.py), nodes, seconds, what was planted -> "
            "who was blamed; `below`: the threshold, so nobody is to be", log.head)


def tell_wrong(args, log, r):
    only = f" --only '{args.only}'" if args.only else ""
    kept = args.build / f"trials-{args.seed}-{r['number']}.json"
    kept.write_text(json.dumps(r, indent=1) + "\n")
    log.say(f"VIOLATION in trial {r['number']} of seed {args.seed}:", log.tail)
    for text in r["wrong"]:
        log.say(f"  {text}", log.tail)
    log.say(f"  planted: {'; '.join(r['planted']) or 'nothing'}", log.tail)
    log.say(f"  thresholds: {json.dumps(r['thresholds'])}", log.tail)
    log.say(f"  again: ./dev trials --seed {args.seed} --first {r['number']} --trials 1 "
            f"--pods {args.pods}{only}", log.tail)
    log.say(f"  exit code {r['code']}; {json.dumps(r['report'])}", log.tail)


def summary(args, log, done, seconds):
    wrong = sum(1 for r in done if r["wrong"])
    kinds = [k for r in done for k in r["kinds"]]
    log.say(f"trials: {len(done)} in {seconds:.0f} s, {len(kinds)} faults, "
            f"{sum(1 for r in done if len(r['kinds']) == 2)} times two at once, "
            f"{sum(1 for r in done if not r['kinds'])} times none: "
            f"{f'{wrong} with a violation' if wrong else 'no wrong blame'}", log.tail)
    count = collections.Counter(kinds)
    for kind in faults.KINDS:
        below = f", {count[kind, False]} below the threshold" if faults.KINDS[kind].near else ""
        log.say(f"  {kind:17s} {count[kind, True]:4d}{below}", log.tail)


# ---- the whole ------------------------------------------------------------------------------

def collect(args, log, beds, results):
    done = []
    while len(done) < args.trials:
        try:
            r = results.get(timeout=1)
        except queue.Empty:
            if any(b.is_alive() for b in beds) or not results.empty():
                continue
            raise SystemExit("trials: the beds have ended before their time")
        if "error" in r:
            raise SystemExit(f"trials: {r['error']}")
        log.tell(r)
        if r["wrong"]:
            tell_wrong(args, log, r)
        done.append(r)
    return done


def main():
    args = arguments()
    args.build = Path(os.environ.get("MUSTER_BUILDDIR", TOP / "build"))
    why = missing()
    if why:
        print(f"trials: {why}", file=sys.stderr)
        return 77
    log, begun = Log(), time.monotonic()
    header(args, log)
    left, results = multiprocessing.Value("i", args.first), multiprocessing.Queue()
    beds = [multiprocessing.Process(target=work, args=(args, i + 1, left, results))
            for i in range(args.beds)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for b in beds:
            b.start()
        done = collect(args, log, beds, results)
        summary(args, log, done, time.monotonic() - begun)
    finally:
        for b in beds:
            if b.is_alive() and sys.exc_info()[0] is not None:
                b.terminate()
        for b in beds:
            b.join()
        if args.log:
            log.write(args.log)
    return 1 if any(r["wrong"] for r in done) else 0


if __name__ == "__main__":
    sys.exit(main())

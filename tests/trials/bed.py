"""A bed of emulated pods (podbox) with agents, and `muster check` on it as a user runs it."""
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import faults
import hand
import wires

LIMIT_S = 180  # of a whole check; far more than it takes
# Small buffers of TCP, in the pods: what a slow pair has sent is soon there.
BUFFERS = "4096 65536 524288"
PLACE = "/etc/muster/group"  # of the ConfigMap with the stand-ins
NV = """FAKE_NVML=$(cat /tmp/nvml)
export FAKE_NVML
exec {build}/kernels/check/nvprobe --expect {gpus} \
--library {build}/tests/unit/libfakenvml.so --kernel-log /tmp/kmsg --deadline "$1"
"""
RATE = """echo '{"check": "cpu", "verdict": "pass", "copy_gb_s": {"median": '"$(cat /tmp/rate)"'}}'
"""


class Bed:
    """`with Bed(...)`: pods train-0 ... with an agent each."""

    def __init__(self, build, name, pods):
        self.build, self.name, self.pods = build, name, pods
        self.env = {**os.environ, "PODBOX_BED": name, "PODBOX_BIND": build}
        self.muster = f"{build}/launcher/muster"
        self.work = None

    def podbox(self, *words, **more):
        return subprocess.run([f"{self.build}/tests/podbox/podbox", *words], env=self.env, check=True,
                              timeout=60, text=True, stdout=subprocess.PIPE, **more).stdout.strip()

    def __enter__(self):
        self.work = Path(tempfile.mkdtemp(prefix="trials-"))
        try:
            self._up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([f"{self.build}/tests/podbox/podbox", "down"], env=self.env, timeout=60,
                       stdout=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.work, ignore_errors=True)

    def _up(self):
        stand_ins = self.work / "group"
        stand_ins.mkdir()
        (stand_ins / "nv").write_text(NV.format(build=self.build, gpus=faults.GPUS))
        (stand_ins / "rate").write_text(RATE)
        subprocess.run([self.muster, "keygen", self.work / "key"], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        self.podbox("volume", "put", "key", self.work / "key")
        self.podbox("volume", "put", "group", stand_ins)
        self.podbox("up", str(self.pods), "--name", "train", "--secret", "key:/etc/muster/ssh",
                    "--volume", f"group:{PLACE}")
        names = [f"train-{i}" for i in range(self.pods)]
        self.pids = [int(self.podbox("pid", n)) for n in names]
        self.fabric = wires.Fabric(f"/run/podbox/{self.name}/bed.json",
                                   [self.podbox("ip", n) for n in names])
        for name, pid in zip(names, self.pids):
            self.podbox("exec", name, "-d", f"{self.build}/agent/musterd")
            for way in "rw":
                subprocess.run(["nsenter", "-t", str(pid), "-n", "tee", f"/proc/sys/net/ipv4/tcp_{way}mem"],
                               input=BUFFERS, text=True, check=True, timeout=30,
                               stdout=subprocess.DEVNULL)
        self.agents = [self._agent_of(n) for n in names]

    def _agent_of(self, pod):
        """Its pid. What podbox started in a pod is no child of that pod's pid 1."""
        for line in self.podbox("ps", pod).splitlines():
            pid, command = line.split(maxsplit=1)
            if command.endswith("/agent/musterd"):
                return int(pid)
        raise RuntimeError(f"no agent runs in {pod}: {self.podbox('logs', pod)}")

    def _put(self, pod, name, text):
        Path(f"/proc/{self.pids[pod]}/root/tmp/{name}").write_text(text)

    def prepare(self, trial):
        """The trial's faults, in place of those of the trial before; but for what hands do."""
        bench = trial.bench
        for pod in range(self.pods):
            self._put(pod, "nvml", " ".join(bench.nvml.get(pod, []) + [f"count={faults.GPUS}"]))
            self._put(pod, "kmsg", faults.kmsg_text(bench.kmsg.get(pod, [])))
            self._put(pod, "rate", f"{bench.rates.get(pod, faults.USUAL_GB_S):.6g}")
        self._put(0, "thresholds", "".join(f"{k} {v:g}\n" for k, v in bench.thresholds.items()))
        self.fabric.lay(bench.wires)

    def _command(self, trial):
        s = trial.setting
        checks = [f"sh {PLACE}/nv {s.probe_s}"]
        checks.insert(0, f"sh {PLACE}/rate" if s.name == "edge" else
                      f"cpucheck --memory {hand.MEMORY} --rounds 8 --seed {hand.SEED} --deadline {s.timeout_s - 1}")
        return [f"{self.build}/tests/podbox/podbox", "exec", "train-0", self.muster, "check", "--json",
                "--pods", f"train-[0-{trial.nodes - 1}].train", "--check-thresholds", "/tmp/thresholds",
                "--check-timeout", str(s.timeout_s)] + [w for c in checks for w in ("--check-command", c)]

    def check(self, trial):
        """(report, exit code, stderr, every hand has struck); the report is None where it is no JSON."""
        self.prepare(trial)
        hands = [make(self.agents) for make in trial.bench.hands]
        for h in hands:
            h.start()
        try:
            done = subprocess.run(self._command(trial), env=self.env, timeout=LIMIT_S, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
        finally:
            for h in hands:
                h.end()
        try:
            report = json.loads(done.stdout)
        except ValueError:
            report = None
        return report, done.returncode, done.stderr, all(h.struck for h in hands)

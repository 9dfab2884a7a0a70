"""The life of a pod: volumes, init containers, native sidecars, main containers, probes, restarts.

A pod is a thread, and each container that runs is a child `podbox run`. Time is shortened: a
probe's period is a second at most, and a restart waits RESTART_S instead of 10 s to 5 min.
"""
import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import containers
from workloads import Refused

TICK_S, RESTART_S, INIT_RESTARTS = 0.1, 0.5, 4


@dataclasses.dataclass
class Live:
    ip: str
    uid: str
    node_ip: str


class Container:
    """A container that runs, or has ended."""

    def __init__(self, pod, spec, sidecar=False):
        self.pod, self.spec, self.sidecar = pod, spec, sidecar
        self.name, self.child, self.code, self.restarts = spec['name'], None, None, -1
        self.again_at, self.started, self.ready, self.probe_at = 0, False, False, 0
        self.killed = False

    def start(self):
        self.restarts += 1
        self.code, self.started, self.ready, self.probe_at = None, False, False, 0
        self.killed = False
        words = containers.run_args(self.spec, self.pod.pod, self.pod.live, self.pod.node.images,
                                    self.pod.node.objects, self.pod.volumes)
        log = os.path.join(self.pod.node.logs, f'{self.pod.pod.name}.{self.name}.log')
        with open(log, 'ab') as out:
            self.child = subprocess.Popen(
                self.pod.node.bed.command('run', self.pod.pod.name, *words),
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        self.pod.say(f'{self.name}: started' + (f' again ({self.restarts})' if self.restarts else ''))

    def ended(self):
        """True once when it has ended."""
        if self.child is None or self.child.poll() is None:
            return False
        self.code, self.child, self.ready = self.child.returncode, None, False
        self.pod.say(f'{self.name}: exit code {self.code}')
        return True

    def probe(self):
        """Readiness; before it the start-up probe."""
        now = time.monotonic()
        if self.child is None or now < self.probe_at:
            return
        ask, ip = self.pod.node.prober.passes, self.pod.live.ip
        spec = self.spec.get('startupProbe') if not self.started else self.spec.get('readinessProbe')
        passed = spec is None or ask(spec, ip)
        self.probe_at = now + (min(spec.get('periodSeconds', 10), 1) if spec and passed else TICK_S)
        if not self.started:
            self.started = passed
            self.probe_at = now
        else:
            self.ready = passed

    def term(self):
        """Once: to musterd a second SIGTERM means at once."""
        if self.child is not None:
            self.child.send_signal(signal.SIGTERM)

    def wait(self, grace):
        if self.child is None:
            return
        try:
            self.child.wait(grace)
        except subprocess.TimeoutExpired:
            self.child.kill()  # its container goes with it
            self.child.wait()


class PodLife(threading.Thread):
    def __init__(self, node, pod):
        super().__init__(daemon=True)
        self.node, self.pod = node, pod
        self.live, self.volumes, self.published = None, {}, False
        self.sidecars, self.mains, self.init = [], [], None
        self.leave = threading.Event()

    def say(self, text):
        self.node.say(f'{self.pod.name}: {text}')

    # ---- volumes ---------------------------------------------------------------

    def make_volume(self, volume):
        group = self.pod.spec.get('securityContext', {}).get('fsGroup')
        if 'emptyDir' in volume:
            return 'share', self.node.bed.empty_dir(self.pod.name, volume['name'], group)
        kind = 'Secret' if 'secret' in volume else 'ConfigMap'
        source = volume.get('secret') or volume.get('configMap')
        if source is None:
            raise Refused(f"volume {volume['name']}: not of a kind that is emulated")
        name = source.get('secretName') or source.get('name')
        files = self.node.objects.get((kind, name))
        if files is None:
            raise Refused(f'{kind} {name} is not there')
        with tempfile.TemporaryDirectory() as top:
            modes = containers.fill(files, source.get('items'), f'{top}/v')
            mode = source.get('defaultMode', 0o644)
            if modes and modes != {None}:
                mode = max(m for m in modes if m is not None)
            podbox_name = f"{self.pod.name}.{volume['name']}"
            self.node.bed.put_volume(podbox_name, f'{top}/v', mode, group)
        return ('secret' if kind == 'Secret' else 'volume'), podbox_name

    def make_volumes(self):
        shutil.rmtree(f'{self.node.bed.folder}/pods/{self.pod.name}/empty', ignore_errors=True)
        self.volumes = {v['name']: self.make_volume(v) for v in self.pod.spec.get('volumes', [])}

    # ---- containers --------------------------------------------------------------

    def run_init(self, spec):
        """To its good end; again after a bad one, unless the pod never restarts."""
        self.init = Container(self, spec)
        while not self.leave.is_set():
            self.init.start()
            while not self.init.ended():
                if self.leave.wait(TICK_S):
                    self.init.term()
                    self.init.wait(0)
                    return False
            if self.init.code == 0:
                return True
            if self.pod.spec['restartPolicy'] == 'Never':
                return False
            if self.init.restarts == INIT_RESTARTS:
                raise Refused(f'{self.init.name} ends badly again and again')
            self.leave.wait(RESTART_S)
        return False

    def begin(self):
        for spec in self.pod.spec.get('initContainers', []):
            if spec.get('restartPolicy') != 'Always':
                if not self.run_init(spec):
                    return False
                continue
            sidecar = Container(self, spec, sidecar=True)
            self.sidecars.append(sidecar)
            sidecar.start()
            while not sidecar.started:
                self.look(sidecar)
                if self.leave.wait(TICK_S):
                    return False
        self.mains = [Container(self, spec) for spec in self.pod.spec['containers']]
        for c in self.mains:
            c.start()
        return True

    def look(self, c):
        """One look at a container: end, restart, probes."""
        policy = 'Always' if c.sidecar else self.pod.spec['restartPolicy']
        if c.ended():
            if not c.sidecar and not c.killed:
                self.node.main_ended(self.pod, c.name, c.code)
            if policy == 'Always' or (policy == 'OnFailure' and c.code != 0):
                c.again_at = time.monotonic() + RESTART_S
        if c.child is None and c.again_at and time.monotonic() >= c.again_at:
            c.again_at = 0
            c.start()
        c.probe()

    def publish(self):
        every = self.sidecars + self.mains
        ready = bool(self.mains) and all(c.ready for c in every)
        if ready != self.published:
            self.node.bed.call('ready' if ready else 'unready', self.pod.name)
            self.published = ready
            self.say('ready' if ready else 'not ready')

    def over(self):
        return all(c.child is None and not c.again_at for c in self.mains)

    def kill(self, name):
        """As the OOM killer: the container is gone, and its restart policy decides."""
        for c in self.sidecars + self.mains:
            if c.name == name and c.child is not None:
                c.killed = True
                c.child.kill()

    def run(self):
        try:
            self.live = self.node.live(self.pod.name)
            self.make_volumes()
            begun = self.begin()
            while begun and not self.over() and not self.leave.wait(TICK_S):
                for c in self.sidecars + self.mains:
                    self.look(c)
                self.publish()
        except (Refused, RuntimeError, OSError) as e:
            self.node.fail(f'pod {self.pod.name}: {e}')
        except Exception as e:  # whatever it is, the run has to end
            self.node.fail(f'pod {self.pod.name}: {type(e).__name__}: {e}')
        self.end()

    def end(self):
        """Main containers first, with the pod's grace; then sidecars, in reverse."""
        grace = self.pod.spec.get('terminationGracePeriodSeconds', 30)
        for c in self.mains:
            c.term()
        for c in self.mains:
            c.wait(grace)
        for c in self.sidecars[::-1]:
            c.term()
            c.wait(grace)

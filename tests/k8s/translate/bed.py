"""podbox, as the translator calls it."""
import json
import os
import subprocess
import threading

LIMIT_S = 60


class Bed:
    def __init__(self, podbox, name):
        self.podbox, self.name = podbox, name
        self.folder = f'/run/podbox/{name}'
        self.lock = threading.Lock()  # commands that change the bed: one at a time

    def command(self, *words):
        return [self.podbox, '--bed', self.name, *words]

    def call(self, *words):
        with self.lock:
            done = subprocess.run(self.command(*words), stdout=subprocess.PIPE, text=True,
                                  stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"podbox {' '.join(words)}: exit code {done.returncode}")
        return done.stdout

    def pods(self):
        """{name: {"ip", "uid", ...}}"""
        return {p['name']: p for p in json.loads(self.call('list', '--json'))}

    def state(self):
        with open(f'{self.folder}/bed.json', encoding='utf-8') as f:
            return json.load(f)

    def put_volume(self, name, folder, mode, group):
        """A Secret or ConfigMap volume; group: fsGroup, which may read it as kubelet arranges it."""
        if group is not None:
            mode |= 0o440
        self.call('volume', 'put', name, folder, '--mode', f'{mode:04o}')
        data = f'{self.folder}/volumes/{name}/mount/..data'
        for file in os.listdir(data) if group is not None else []:
            os.chown(os.path.join(data, file), 0, group)

    def empty_dir(self, pod, name, group):
        path = f'{self.folder}/pods/{pod}/empty/{name}'
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o777 if group is None else 0o2777)
        if group is not None:
            os.chown(path, 0, group)
        return path

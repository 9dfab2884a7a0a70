#!/usr/bin/env python3
"""A rendered manifest as emulated pods: what controllers and kubelet would do, by podbox.

  translate.py run --podbox P --bed B --logs DIR --image NAME=FOLDER[,user=N][,entrypoint=W][,bind=F]...
      [--secret NAME=FOLDER]... --until POD/CONTAINER MANIFEST
  translate.py show MANIFEST
  translate.py order DIR replace POD | kill POD CONTAINER

`run` ends with the exit code of the container that --until names, when it ends by itself (126: the
manifest is refused), and leaves the bed to `podbox down`. Its events are lines on stdout, the containers' output
is DIR/POD.CONTAINER.log. `order` makes a controller's move: a pod of that name, anew; a container's death.
`show` prints, as YAML, the pods and ConfigMaps that the controllers would make.
"""
import argparse
import dataclasses
import os
import pathlib
import queue
import socket
import sys
import threading

import yaml

import bed as podbox
import containers
import kubelet
import probes
import workloads


class Node:
    """All pods of a manifest, and what they share."""

    def __init__(self, options, group):
        self.bed = podbox.Bed(options.podbox, options.bed)
        self.images, self.logs, self.group = options.image, options.logs, group
        self.objects = {**group.objects, **options.secret}
        self.until = tuple(options.until.split('/'))
        self.codes, self.lives, self.printing = queue.Queue(), {}, threading.Lock()
        self.prober = None

    def say(self, text):
        with self.printing:
            print(text, flush=True)

    def fail(self, text):
        self.say(f'refused: {text}')
        self.codes.put(126)

    def main_ended(self, pod, container, code):
        if (pod.name, container) == self.until:
            self.codes.put(code)

    def live(self, name):
        pod = self.bed.pods()[name]
        node = pod['ip'].split('.')
        return kubelet.Live(pod['ip'], pod['uid'], f'{node[0]}.{node[1]}.{int(node[2]) & ~3}.1')

    def start(self, pod):
        self.lives[pod.name] = kubelet.PodLife(self, pod)
        self.lives[pod.name].start()

    def up(self):
        names = ','.join(p.name for p in self.group.pods)
        self.bed.call('up', '--names', names, '--service', self.group.service, '--not-ready',
                      *(['--publish-not-ready'] if self.group.publish_not_ready else []))
        self.prober = probes.Prober(self.bed.state()['fabric'][0])
        for pod in self.group.pods:
            self.start(pod)

    def stop(self, life):
        life.leave.set()
        life.join()

    def replace(self, name):
        """The pod is deleted with its grace; its controller makes another one of the name."""
        life = self.lives[name]
        self.stop(life)
        if life.published:
            self.bed.call('unready', name)
        self.bed.call('replace', name)
        self.say(f'{name}: replaced')
        self.start(life.pod)

    def obey(self, words):
        if words[0] == 'replace' and len(words) == 2 and words[1] in self.lives:
            self.replace(words[1])
        elif words[0] == 'kill' and len(words) == 3 and words[1] in self.lives:
            self.lives[words[1]].kill(words[2])
        else:
            return 'no such order'
        return 'ok'

    def listen(self):
        """Orders, one a connection."""
        server = socket.socket(socket.AF_UNIX)
        server.bind(os.path.join(self.logs, 'orders'))
        server.listen()
        while True:
            peer, _ = server.accept()
            with peer:
                peer.sendall(self.obey(peer.recv(1000).decode().split()).encode())


def image(text):
    name, _, rest = text.partition('=')
    folder, *more = rest.split(',')
    made = containers.Image(folder)
    for word in more:
        key, _, value = word.partition('=')
        if key == 'user':
            made.user = int(value)
        elif key == 'entrypoint':
            made.entrypoint.append(value)
        elif key == 'bind':
            made.binds.append(value)
    return name, made


def secret(text):
    name, _, folder = text.partition('=')
    return ('Secret', name), {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}


def run(options):
    docs = list(yaml.safe_load_all(pathlib.Path(options.manifest).read_text()))
    try:
        node = Node(options, workloads.group(docs))
        if not any(p.name == node.until[0] for p in node.group.pods):
            raise workloads.Refused(f'there is no pod {node.until[0]}')
    except workloads.Refused as e:
        print(f'refused: {e}')
        return 126
    node.up()
    threading.Thread(target=node.listen, daemon=True).start()
    code = node.codes.get()
    for life in node.lives.values():
        life.leave.set()
    for life in node.lives.values():
        life.join()
    return code


def show(manifest):
    try:
        group = workloads.group(list(yaml.safe_load_all(pathlib.Path(manifest).read_text())))
    except workloads.Refused as e:
        print(f'refused: {e}')
        return 126
    made = {'service': group.service, 'publishNotReadyAddresses': group.publish_not_ready,
            'pods': {p.name: dataclasses.asdict(p) for p in group.pods},
            'objects': {f'{kind}/{name}': {k: v.decode() for k, v in files.items()}
                        for (kind, name), files in group.objects.items()}}
    print(yaml.safe_dump(made))
    return 0


def order(folder, words):
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(os.path.join(folder, 'orders'))
        link.sendall(' '.join(words).encode())
        answer = link.recv(1000).decode()
    print(answer)
    return 0 if answer == 'ok' else 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = p.add_subparsers(dest='command', required=True)
    r = commands.add_parser('run')
    for name in ('podbox', 'bed', 'logs', 'until'):
        r.add_argument('--' + name, required=True)
    r.add_argument('--image', action='append', type=image, required=True)
    r.add_argument('--secret', action='append', type=secret, default=[])
    r.add_argument('manifest')
    commands.add_parser('show').add_argument('manifest')
    o = commands.add_parser('order')
    o.add_argument('folder')
    o.add_argument('words', nargs='+')
    options = p.parse_args()
    if options.command == 'order':
        return order(options.folder, options.words)
    if options.command == 'show':
        return show(options.manifest)
    options.image, options.secret = dict(options.image), dict(options.secret)
    return run(options)


if __name__ == '__main__':
    sys.exit(main())

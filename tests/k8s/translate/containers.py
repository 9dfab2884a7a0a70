"""A container of a pod as a call of `podbox run`: what kubelet and the runtime make of its spec."""
import dataclasses
import os
import re

from workloads import NAMESPACE, Refused

NODE = 'node-1'


@dataclasses.dataclass
class Image:
    folder: str
    entrypoint: list = dataclasses.field(default_factory=list)
    user: int = 0
    binds: list = dataclasses.field(default_factory=list)  # folders of this machine that are in it


def image_of(images, name):
    bare = name.rsplit(':', 1)[0] if ':' in name.rsplit('/', 1)[-1] else name
    if bare not in images:
        raise Refused(f'image {name}: not one of {", ".join(images)}')
    return images[bare]


def field(pod, live, path):
    """Downward API."""
    keyed = re.fullmatch(r"metadata\.(labels|annotations)\['([^']+)'\]", path)
    if keyed:
        return getattr(pod, keyed[1]).get(keyed[2], '')
    known = {'metadata.name': pod.name, 'metadata.namespace': NAMESPACE, 'metadata.uid': live.uid,
             'spec.nodeName': NODE, 'status.podIP': live.ip, 'status.hostIP': live.node_ip}
    if path not in known:
        raise Refused(f'fieldPath {path} is not emulated')
    return known[path]


def expand(text, env):
    """$(NAME) of a known variable; $$ is $; all else stays."""
    def one(m):
        if m[0] == '$$':
            return '$'
        return env.get(m[1], m[0])
    return re.sub(r'\$\$|\$\(([-._a-zA-Z0-9]+)\)', one, text)


def environment(container, pod, live, objects):
    env = {}
    for entry in container.get('env', []):
        source = entry.get('valueFrom')
        if source is None:
            env[entry['name']] = expand(entry.get('value', ''), env)
        elif 'fieldRef' in source:
            env[entry['name']] = field(pod, live, source['fieldRef']['fieldPath'])
        else:
            kind = 'Secret' if 'secretKeyRef' in source else 'ConfigMap'
            ref = source.get('secretKeyRef') or source.get('configMapKeyRef')
            value = objects.get((kind, ref['name']), {}).get(ref['key']) if ref else None
            if value is not None:
                env[entry['name']] = value.decode()
            elif not (ref and ref.get('optional')):
                raise Refused(f"env {entry['name']}: its source is not there, or not emulated")
    return env


def security(container, pod, image):
    """(uid, gid, read-only root, no new privileges), the container's own before the pod's."""
    s = {**pod.spec.get('securityContext', {}), **container.get('securityContext', {})}
    uid, gid = s.get('runAsUser', image.user), s.get('runAsGroup', image.user)
    if s.get('runAsNonRoot') and uid == 0:
        raise Refused(f"container {container['name']}: runAsNonRoot, and the image's user is root")
    groups = {gid, pod.spec.get('securityContext', {}).get('fsGroup', gid)}
    if len(groups) > 1:
        raise Refused('an fsGroup beside runAsGroup is not emulated: they have to be the same')
    return uid, gid, s.get('readOnlyRootFilesystem', False), \
        not s.get('allowPrivilegeEscalation', True)


def run_args(container, pod, live, images, objects, volumes):
    """The words behind `podbox run POD`. `volumes`: {name: (podbox's kind, source)}."""
    image = image_of(images, container['image'])
    uid, gid, read_only, no_new = security(container, pod, image)
    words = ['--image', image.folder, '--user', f'{uid}:{gid}']
    words += ['--read-only'] * read_only + ['--no-new-privs'] * no_new
    for folder in image.binds:
        words += ['--mount', f'bind:{folder}:{folder}']
    for mount in container.get('volumeMounts', []):
        if mount['name'] not in volumes:
            raise Refused(f"container {container['name']}: there is no volume {mount['name']}")
        if 'subPath' in mount:
            raise Refused('subPath is not emulated')
        kind, source = volumes[mount['name']]
        if kind == 'share' and mount.get('readOnly'):
            kind = 'bind'
        words += ['--mount', f"{kind}:{source}:{mount['mountPath']}"]
    env = environment(container, pod, live, objects)
    for name, value in env.items():
        words += ['--env', f'{name}={value}']
    command = [expand(w, env) for w in container.get('command', image.entrypoint)]
    command += [expand(w, env) for w in container.get('args', [])]
    if not command:
        raise Refused(f"container {container['name']}: nothing to start")
    return words + command


def fill(files, items, folder):
    """The files of a Secret or ConfigMap volume."""
    os.makedirs(folder)
    modes = set()
    for item in items if items is not None else [{'key': k, 'path': k} for k in files]:
        if item['key'] not in files:
            raise Refused(f"key {item['key']} is not there")
        with open(os.path.join(folder, item['path']), 'wb') as f:
            f.write(files[item['key']])
        modes.add(item.get('mode'))
    return modes

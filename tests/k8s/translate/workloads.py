"""What the controllers make of a manifest: pods, with all that they add by themselves.

Sources are in tests/podbox/FIDELITY.md ("Manifests"). Nothing here knows podbox.
"""
import copy
import dataclasses


@dataclasses.dataclass
class Pod:
    name: str       # also its host name: suffixes of Jobs' pods are left out
    service: str    # spec.subdomain
    spec: dict
    labels: dict
    annotations: dict


@dataclasses.dataclass
class Group:
    service: str
    publish_not_ready: bool
    pods: list
    objects: dict   # {(kind, name): {key: bytes}} of Secrets and ConfigMaps


class Refused(Exception):
    """The manifest says something that Kubernetes, or this emulation, would not take."""


NAMESPACE = 'default'


def add_env(containers, variables):
    for c in containers:
        c.setdefault('env', [])[:0] = [{'name': k, 'value': v} for k, v in variables.items()]


def all_containers(spec):
    return spec.get('initContainers', []) + spec['containers']


def pod_of(template, name, service, policy=None, labels=None, annotations=None):
    meta, spec = template.get('metadata', {}), copy.deepcopy(template['spec'])
    spec.setdefault('restartPolicy', policy or 'Always')
    return Pod(name, service, spec, {**meta.get('labels', {}), **(labels or {})},
               {**meta.get('annotations', {}), **(annotations or {})})


def stateful_set(doc):
    name, spec = doc['metadata']['name'], doc['spec']
    return [pod_of(spec['template'], f'{name}-{i}', spec['serviceName'],
                   labels={'apps.kubernetes.io/pod-index': str(i),
                           'statefulset.kubernetes.io/pod-name': f'{name}-{i}'})
            for i in range(spec['replicas'])]


def job_pods(name, spec, service, host):
    """The pods of an Indexed Job; `host` is its pods' host name up to the index."""
    if spec.get('completionMode') != 'Indexed':
        raise Refused(f'Job {name}: not Indexed: its pods have no names')
    if spec['template']['spec'].get('restartPolicy') not in ('Never', 'OnFailure'):
        raise Refused(f'Job {name}: restartPolicy has to be Never or OnFailure')
    pods = []
    for i in range(min(spec['completions'], spec['parallelism'])):
        key = 'batch.kubernetes.io/job-completion-index'
        pod = pod_of(spec['template'], f'{host}-{i}', service, labels={key: str(i), 'job-name': name},
                     annotations={key: str(i)})
        add_env(all_containers(pod.spec), {'JOB_COMPLETION_INDEX': str(i)})
        pods.append(pod)
    return pods


def indexed_job(doc):
    name, spec = doc['metadata']['name'], doc['spec']
    return job_pods(name, spec, spec['template']['spec'].get('subdomain'), name)


def job_set(doc):
    name, spec = doc['metadata']['name'], doc['spec']
    service = spec.get('network', {}).get('subdomain', name)
    pods = []
    for job in spec['replicatedJobs']:
        for i in range(job.get('replicas', 1)):
            host = f"{name}-{job['name']}-{i}"
            pods += job_pods(host, job['template']['spec'], service, host)
    return pods


def leader_worker_set(doc):
    name, spec = doc['metadata']['name'], doc['spec']
    if spec.get('networkConfig', {}).get('subdomainPolicy', 'Shared') != 'Shared':
        raise Refused(f'LeaderWorkerSet {name}: one Service a group is not emulated')
    templates, pods = spec['leaderWorkerTemplate'], []
    size = templates['size']
    for g in range(spec.get('replicas', 1)):
        for i in range(size):
            template = templates['workerTemplate'] if i else \
                templates.get('leaderTemplate', templates['workerTemplate'])
            label = 'leaderworkerset.sigs.k8s.io/'
            pod = pod_of(template, f'{name}-{g}-{i}' if i else f'{name}-{g}', name,
                         labels={label + 'name': name, label + 'group-index': str(g),
                                 label + 'worker-index': str(i)},
                         annotations={label + 'size': str(size)})
            add_env(all_containers(pod.spec),
                    {'LWS_LEADER_ADDRESS': f'{name}-{g}.{name}.{NAMESPACE}',
                     'LWS_GROUP_SIZE': str(size), 'LWS_WORKER_INDEX': str(i)})
            pods.append(pod)
    return pods


def mpi_ssh(spec, name, path):
    spec.setdefault('volumes', []).append({'name': 'ssh-auth', 'secret': {
        'secretName': f'{name}-ssh',
        **({'defaultMode': 0o600} if path == '/root/.ssh' else {}),
        'items': [{'key': 'ssh-privatekey', 'path': 'id_rsa'},
                  {'key': 'ssh-publickey', 'path': 'id_rsa.pub'},
                  {'key': 'ssh-publickey', 'path': 'authorized_keys'}]}})
    spec['containers'][0].setdefault('volumeMounts', []).append(
        {'name': 'ssh-auth', 'mountPath': path})


OPEN_MPI_ENV = {
    'OMPI_MCA_orte_keep_fqdn_hostnames': 'true',
    'OMPI_MCA_orte_default_hostfile': '/etc/mpi/hostfile',
    'OMPI_MCA_plm_rsh_args': '-o ConnectionAttempts=10',
}


def mpi_job(doc):
    name, spec = doc['metadata']['name'], doc['spec']
    if spec.get('mpiImplementation', 'OpenMPI') != 'OpenMPI':
        raise Refused(f'MPIJob {name}: only OpenMPI is emulated')
    slots, path = str(spec.get('slotsPerWorker', 1)), spec.get('sshAuthMountPath', '/root/.ssh')
    parts, pods = spec['mpiReplicaSpecs'], []
    for i in range(parts['Worker']['replicas']):
        pod = pod_of(parts['Worker']['template'], f'{name}-worker-{i}', name)
        pod.spec['restartPolicy'] = parts['Worker'].get('restartPolicy', 'Never')
        first = pod.spec['containers'][0]
        if not first.get('command') and not first.get('args'):
            first['command'] = ['/usr/sbin/sshd', '-De']
        add_env([first], {'K_MPI_JOB_ROLE': 'worker'})
        mpi_ssh(pod.spec, name, path)
        pods.append(pod)
    pod = pod_of(parts['Launcher']['template'], f'{name}-launcher', name)
    pod.spec['restartPolicy'] = parts['Launcher'].get('restartPolicy', 'OnFailure')
    add_env(pod.spec['containers'][:1], {
        'K_MPI_JOB_ROLE': 'launcher', **OPEN_MPI_ENV, 'OMPI_MCA_orte_set_default_slots': slots,
        'NVIDIA_VISIBLE_DEVICES': '', 'NVIDIA_DRIVER_CAPABILITIES': ''})
    mpi_ssh(pod.spec, name, path)
    pod.spec['volumes'].append({'name': 'mpi-job-config', 'configMap': {
        'name': f'{name}-config',
        'items': [{'key': 'hostfile', 'path': 'hostfile', 'mode': 0o444},
                  {'key': 'discover_hosts.sh', 'path': 'discover_hosts.sh', 'mode': 0o555}]}})
    pod.spec['containers'][0].setdefault('volumeMounts', []).append(
        {'name': 'mpi-job-config', 'mountPath': '/etc/mpi'})
    return pods + [pod]


def mpi_config(doc):
    """mpi-operator's own ConfigMap."""
    name, spec = doc['metadata']['name'], doc['spec']
    hosts = [f'{name}-worker-{i}.{name}.{NAMESPACE}.svc'
             for i in range(spec['mpiReplicaSpecs']['Worker']['replicas'])]
    slots = spec.get('slotsPerWorker', 1)
    return {'hostfile': ''.join(f'{h} slots={slots}\n' for h in hosts).encode(),
            'discover_hosts.sh': ('#!/bin/sh\n' + ''.join(f'echo {h}\n' for h in hosts)).encode()}


MAKERS = {'StatefulSet': stateful_set, 'Job': indexed_job, 'JobSet': job_set,
          'LeaderWorkerSet': leader_worker_set, 'MPIJob': mpi_job}


def publishes(docs, maker, service):
    """Whether names of pods that are not ready are in DNS; the Service has to be there."""
    if maker['kind'] == 'LeaderWorkerSet':
        return True
    if maker['kind'] == 'JobSet':
        return maker['spec'].get('network', {}).get('publishNotReadyAddresses', True)
    if maker['kind'] == 'MPIJob':
        return False
    for doc in docs:
        if doc['kind'] == 'Service' and doc['metadata']['name'] == service:
            if doc['spec'].get('clusterIP') != 'None':
                raise Refused(f'Service {service} is not headless: pods get no names')
            return doc['spec'].get('publishNotReadyAddresses', False)
    raise Refused(f"{maker['kind']}: there is no Service {service}: pods get no names")


def group(docs):
    """The pods of the one workload among the documents."""
    makers = [d for d in docs if d['kind'] in MAKERS]
    if len(makers) != 1:
        raise Refused(f'{len(makers)} workloads: one is wanted')
    maker = makers[0]
    pods = MAKERS[maker['kind']](maker)
    service = pods[0].service
    objects = {('ConfigMap', d['metadata']['name']):
               {k: v.encode() for k, v in d.get('data', {}).items()}
               for d in docs if d['kind'] == 'ConfigMap'}
    if maker['kind'] == 'MPIJob':
        objects['ConfigMap', maker['metadata']['name'] + '-config'] = mpi_config(maker)
    return Group(service, publishes(docs, maker, service), pods, objects)

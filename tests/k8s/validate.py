#!/usr/bin/env python3
"""validate.py MANIFEST...: hold rendered manifests against the schemas of Kubernetes and of CRDs.

Core kinds, and the pod template inside every other kind, are held against Kubernetes' own schemas
(PyPI kubernetes-validate), strictly: a field that no schema knows is an error. Kinds of CRDs are
held against the CRD in $K8S_SCHEMAS, if that is there; if not, this is said, on stderr.
"""
import os
import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml

# The oldest one that has all that is used (successPolicy of Jobs), and the newest one known.
VERSIONS = ('1.31', '1.37')
CORE = {'v1', 'apps/v1', 'batch/v1', 'networking.k8s.io/v1', 'rbac.authorization.k8s.io/v1'}


def load_all(text):
    # libyaml's loader: CRDs are half a megabyte each, and the other one takes a minute for it.
    return yaml.load_all(text, Loader=yaml.CSafeLoader)


def strict(schema):
    """A CRD's structural schema as JSON schema: unknown fields are refused, null is as absent."""
    if isinstance(schema, list):
        return [strict(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {k: strict(v) for k, v in schema.items() if k not in ('description', 'default', 'format')}
    if schema.get('x-kubernetes-int-or-string'):
        return {'anyOf': [{'type': 'integer'}, {'type': 'string'}]}
    if isinstance(schema.get('properties'), dict) and 'x-kubernetes-preserve-unknown-fields' not in schema:
        out.setdefault('additionalProperties', False)
    if isinstance(schema.get('properties'), dict):
        # A field may be called as a keyword is: only the values are schemas.
        out['properties'] = {k: strict(v) for k, v in schema['properties'].items()}
    return out


def crds(folder, kinds):
    """{(apiVersion, kind): schema} of the CRDs of these kinds in a folder."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob('*.yaml')) if folder else []:
        text = path.read_text()
        if not any(f'\n    kind: {kind}\n' in text for kind in kinds):
            continue  # parsing one takes seconds
        for crd in load_all(text):
            for v in crd['spec']['versions'] if crd else []:
                schema = strict(v['schema']['openAPIV3Schema'])
                schema['properties']['metadata'] = {'type': 'object'}
                key = (f"{crd['spec']['group']}/{v['name']}", crd['spec']['names']['kind'])
                found[key] = schema
    return found


def pod_templates(value, path=''):
    """Whatever has a pod's spec: (path, template), at any depth."""
    if isinstance(value, dict):
        if isinstance(value.get('spec'), dict) and 'containers' in value['spec']:
            yield path, value
            return
        for k, v in value.items():
            yield from pod_templates(v, f'{path}.{k}')
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from pod_templates(v, f'{path}[{i}]')


def check_core(doc, where):
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(doc, version, strict=True)
        except kubernetes_validate.ValidationError as e:
            at = '.'.join(str(p) for p in e.path)
            yield f'{where}: Kubernetes {version}: {at}: {e.message[:300]}'


def check(doc, known, unseen):
    """Yields an error a line."""
    api, kind = doc['apiVersion'], doc['kind']
    where = f"{kind} {doc['metadata']['name']}"
    if api in CORE:
        yield from check_core(doc, where)
        return
    templates = list(pod_templates(doc['spec'], '.spec'))
    if not templates:
        yield f'{where}: has no pod template'
    for path, template in templates:
        pod = {'apiVersion': 'v1', 'kind': 'Pod', **template}
        yield from check_core(pod, f'{where} {path}')
    if (api, kind) not in known:
        unseen.add(f'{api} {kind}')
        return
    validator = jsonschema.Draft202012Validator(known[api, kind])
    for e in validator.iter_errors(doc):
        yield f"{where}: {'.'.join(str(p) for p in e.absolute_path)}: {e.message[:300]}"


def main():
    docs = [(path, doc) for path in sys.argv[1:] for doc in load_all(pathlib.Path(path).read_text())]
    known = crds(os.environ.get('K8S_SCHEMAS'), {doc['kind'] for _, doc in docs})
    unseen, bad = set(), 0
    for path, doc in docs:
        for error in check(doc, known, unseen):
            bad += 1
            print(f'{path}: {error}')
    for kind in sorted(unseen):
        print(f'no CRD of {kind} here: only its pod templates were checked', file=sys.stderr)
    print(f'{len(docs)} objects, {bad} errors')
    sys.exit(1 if bad or not docs else 0)


if __name__ == '__main__':
    main()

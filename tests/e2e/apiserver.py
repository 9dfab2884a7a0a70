#!/usr/bin/env python3
"""Emulates the Kubernetes API server for one ConfigMap and some pods, over https.

Usage: apiserver.py DIR

DIR holds tls.crt, tls.key, token (the one that is let in), object.json (the ConfigMap, kept
current), pods.json (a list of {name, uid, ip, labels}, kept current; none: pods are forbidden), if pods are to be replaced
right before a DELETE, successors (by name, their uids), and, if somebody is to change the object right before a PATCH is done, rivals: one
JSON merge patch a line, used up from the front. DIR/port is written when it listens, and
DIR/log has a line for each request: METHOD CODE CONTENT-TYPE PATH.

As the real one (API concepts: "Resource versions", "Patch"; RFC 7386): 401 without a token,
403 for all but the object's own GET and PATCH (as under contrib/k8s/rbac.yaml), 404 when
there is none, 415 for another kind of patch, 409 for a resourceVersion that is not the
current one, or a precondition's uid that is not the pod's; YAML as its writer words it. Of pods
there is the list by status.podIP and label, and DELETE, as under contrib/k8s/rbac-pods.yaml.
Not emulated: field managers, admission, validation, watches.
"""
import http.server
import json
import os
import ssl
import sys
import urllib.parse

KINDS = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict",
         415: "UnsupportedMediaType", 400: "BadRequest"}


def merged(old, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    out = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merged(out.get(key), value)
    return out


class Handler(http.server.BaseHTTPRequestHandler):
    top = "."
    protocol_version = "HTTP/1.1"

    def file(self, name):
        return os.path.join(self.top, name)

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as f:
            return f.read()

    def put(self, name, text):
        with open(self.file(name) + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(self.file(name) + ".new", self.file(name))

    def log_message(self, *args):
        pass

    def answer(self, code, body):
        self.answer_text(code, json.dumps(body), "application/json")

    def answer_text(self, code, text, kind):
        with open(self.file("log"), "a", encoding="utf-8") as f:
            f.write(f"{self.command} {code} {self.headers.get('Content-Type', '-')} {self.path}\n")
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code, message):
        self.answer(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure",
                           "message": message, "reason": KINDS[code], "code": code})

    def change(self, obj, patch):
        """The object after a patch, with a new version, kept."""
        now = merged(obj, patch)
        now["metadata"]["resourceVersion"] = str(int(obj["metadata"]["resourceVersion"]) + 1)
        self.put("object.json", json.dumps(now))
        return now

    def rival(self, obj):
        """Somebody else changes the object first."""
        if not os.path.exists(self.file("rivals")):
            return obj
        first, _, rest = self.read("rivals").partition("\n")
        self.put("rivals", rest)
        return self.change(obj, json.loads(first)) if first else obj

    def is_known(self):
        """Does it have the token? Else it is answered."""
        token = self.read("token").strip()
        given = self.headers.get("Authorization", "")
        if given != f"Bearer {token}":
            self.refuse(401, "Unauthorized")
        return given == f"Bearer {token}"

    def admitted(self):
        """The object that the request is about, or None after an answer."""
        if not self.is_known():
            return None
        obj = json.loads(self.read("object.json"))
        meta = obj["metadata"]
        base = f"/api/v1/namespaces/{meta['namespace']}/configmaps/"
        name = self.path[len(base):] if self.path.startswith(base) else ""
        if name == "gone":  # the Role names it, too
            self.refuse(404, f'configmaps "{name}" not found')
            return None
        if name != meta["name"]:
            self.refuse(403, f'configmaps "{name}" is forbidden: User cannot '
                             f'{self.command.lower()} resource "configmaps"')
            return None
        return obj

    def pods_path(self):
        """What follows .../pods in the path, None: it is not about pods that may be seen."""
        namespace = json.loads(self.read("object.json"))["metadata"]["namespace"]
        base = f"/api/v1/namespaces/{namespace}/pods"
        path = urllib.parse.urlsplit(self.path).path
        if not os.path.exists(self.file("pods.json")) or not path.startswith(base):
            return None
        return path[len(base):]

    def list_pods(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        text = "apiVersion: v1\nitems:\n"
        for pod in json.loads(self.read("pods.json")):
            labels = [f"{key}={value}" for key, value in pod.get("labels", {}).items()]
            if (query["fieldSelector"] != [f"status.podIP={pod['ip']}"]
                    or not set(query.get("labelSelector", [])) <= set(labels)):
                continue
            text += (f"- metadata:\n    labels:\n      name: not-this\n    name: {pod['name']}\n"
                     f"    ownerReferences:\n    - kind: StatefulSet\n      name: train\n"
                     f"      uid: not-this\n    uid: {pod['uid']}\n  spec:\n    containers:\n"
                     f"    - name: not-this\n  status:\n    podIP: {pod['ip']}\n")
        self.answer_text(200, text + "kind: PodList\nmetadata:\n  resourceVersion: \"1\"\n",
                         "application/yaml")

    def do_DELETE(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self.pods_path()
        if not self.is_known():
            return
        if name is None or not name.startswith("/"):
            self.refuse(403, "pods is forbidden: User cannot delete resource")
            return
        pods = json.loads(self.read("pods.json"))
        found = [pod for pod in pods if "/" + pod["name"] == name]
        if found and os.path.exists(self.file("successors")):
            found[0]["uid"] = json.loads(self.read("successors"))[found[0]["name"]]
        uid = json.loads(body or b"{}").get("preconditions", {}).get("uid")
        if not found:
            self.refuse(404, f'pods "{name[1:]}" not found')
        elif uid not in (None, found[0]["uid"]):
            self.refuse(409, f"the UID in the precondition ({uid}) does not match the UID in record")
        else:
            self.put("pods.json", json.dumps([pod for pod in pods if pod not in found]))
            self.answer(200, {"kind": "Pod", "metadata": {"name": name[1:]}})

    def do_GET(self):
        if self.pods_path() == "":
            if self.is_known():
                self.list_pods()
            return
        obj = self.admitted()
        if obj is not None:
            self.answer(200, obj)

    def do_PATCH(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        obj = self.admitted()
        if obj is None:
            return
        if self.headers.get("Content-Type") != "application/merge-patch+json":
            self.refuse(415, "the body of the request was in an unknown format")
            return
        try:
            patch = json.loads(body)
        except ValueError as why:
            self.refuse(400, f"the body is no JSON: {why}")
            return
        obj = self.rival(obj)
        version = patch.get("metadata", {}).get("resourceVersion")
        if version is not None and version != obj["metadata"]["resourceVersion"]:
            self.refuse(409, "the object has been modified; please apply your changes to "
                             "the latest version and try again")
            return
        self.answer(200, self.change(obj, patch))


def main():
    Handler.top = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(Handler.top, "tls.crt"), os.path.join(Handler.top, "tls.key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(os.path.join(Handler.top, "port.new"), "w", encoding="utf-8") as f:
        f.write(str(server.server_address[1]))
    os.rename(os.path.join(Handler.top, "port.new"), os.path.join(Handler.top, "port"))
    server.serve_forever()


main()

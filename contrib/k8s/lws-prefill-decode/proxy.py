#!/usr/bin/env python3
"""A small proxy before prefill and decode servers that are roles of one `muster run`.

Where the servers are stands in the file that MUSTER_ROLE_FILE names: roles called prefill or prefill-*, and decode or
decode-*, each one server, at its leader's address. The file is looked at before each request, and when Muster sends
--role-signal=URG; a role that is not running gets no requests.

  --protocol vllm    a prefill server computes the prompt and says where its KV cache is; a decode server gets
                     the request with that (kv_transfer_params) and answers
  --protocol sglang  both get the request at the same time, with the prefill server's bootstrap address and a random room

A server that cannot be reached is left out in favour of the next one. /health is 200 when a server of each kind says
that it is well. One thread a request, a connection each: for thousands of requests a second take another proxy.
"""
import argparse
import http.client
import http.server
import itertools
import json
import os
import random
import signal
import sys
import threading
import uuid

BODY_MAX = 64 << 20
HEALTH_S, CONNECT_S, ANSWER_S = 1, 5, 3600
GENERATES = ('/v1/completions', '/v1/chat/completions', '/generate')
PASSED_ON = ('content-type', 'authorization', 'accept')
UNREACHABLE = (OSError, http.client.HTTPException)


class Refused(Exception):
    """The answer is an error of the proxy's own: status, text."""


class Servers:
    """The servers of each kind, as the role file has them."""

    def __init__(self, path):
        self.path, self.lock, self.seen = path, threading.Lock(), None
        self.kinds = {'prefill': [], 'decode': []}
        self.turns = {kind: itertools.count() for kind in self.kinds}
        self.refresh()

    def refresh(self):
        """Reads the file when it was replaced, and says what has changed."""
        with self.lock, open(self.path, encoding='utf-8') as f:
            at = os.fstat(f.fileno())
            if (at.st_ino, at.st_mtime_ns) == self.seen:
                return
            self.seen, roles = (at.st_ino, at.st_mtime_ns), json.load(f)['roles']
            now = {kind: [(name, r['leader']) for name, r in sorted(roles.items())
                          if (name == kind or name.startswith(kind + '-')) and r['state'] == 'running']
                   for kind in self.kinds}
            if now != self.kinds:
                self.kinds = now
                print('servers:', ' '.join(f'{name}={address}' for kind in now.values() for name, address in kind),
                      flush=True)

    def of(self, kind):
        self.refresh()
        with self.lock:
            return [address for _, address in self.kinds[kind]]

    def in_turn(self, kind):
        """Addresses, the one whose turn it is first."""
        addresses = self.of(kind)
        first = next(self.turns[kind]) % max(len(addresses), 1)
        return addresses[first:] + addresses[:first]


class Proxy(http.server.BaseHTTPRequestHandler):
    servers = options = None

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        if not self.path.startswith('/health'):
            sys.stderr.write(f'{self.client_address[0]}: {format % args}\n')

    def do_GET(self):
        self.answer(None)

    def do_POST(self):
        length = self.headers.get('Content-Length', '')
        if not length.isdigit():
            self.fail(411, 'a Content-Length is needed')
        elif int(length) > BODY_MAX:
            self.fail(413, f'a body has {BODY_MAX} bytes at most')
        else:
            self.answer(self.rfile.read(int(length)))

    def answer(self, body):
        try:
            if self.path == '/health':
                self.health()
            elif body is not None and self.path in GENERATES:
                self.generate(body)
            else:
                self.relay(self.ask('decode', body))
        except Refused as e:
            self.fail(*e.args)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has gone, or a server in mid-answer

    def fail(self, status, text):
        data = json.dumps({'error': {'message': text, 'type': 'proxy_error', 'code': status}}).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # ---- servers ---------------------------------------------------------------------

    def connect(self, address, timeout):
        link = http.client.HTTPConnection(address, self.options.server_port, timeout=min(timeout, CONNECT_S))
        link.connect()
        link.sock.settimeout(timeout)
        return link

    def send(self, address, body, request_id=None):
        """The client's request, with this body; an answer of which the head is there."""
        link = self.connect(address, ANSWER_S)
        headers = {k: v for k, v in self.headers.items() if k.lower() in PASSED_ON}
        if request_id:
            headers['X-Request-Id'] = request_id
        link.request(self.command, self.path, body, {**headers, 'Connection': 'close'})
        return link.getresponse()

    def is_well(self, address):
        try:
            link = self.connect(address, HEALTH_S)
            link.request('GET', '/health', headers={'Connection': 'close'})
            return link.getresponse().status == 200
        except UNREACHABLE:
            return False

    def ask(self, kind, body, request_id=None):
        """The first server of a kind that answers."""
        why = 'its roles are not running'
        for address in self.servers.in_turn(kind):
            try:
                return self.send(address, body, request_id)
            except UNREACHABLE as e:
                why = f'{address}: {e}'
        raise Refused(503, f'no {kind} server: {why}')

    def relay(self, answer):
        """To the client, as it comes; its end is the end of the connection, unless the length is known."""
        self.send_response(answer.status)
        for name in ('Content-Type', 'Content-Length'):
            if answer.getheader(name):
                self.send_header(name, answer.getheader(name))
        self.end_headers()
        while True:
            try:
                data = answer.read1(65536)
            except UNREACHABLE as e:
                raise ConnectionResetError from e
            if not data:
                return
            self.wfile.write(data)

    def health(self):
        for kind in self.servers.kinds:
            if not any(self.is_well(address) for address in self.servers.of(kind)):
                raise Refused(503, f'no {kind} server is well')
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    # ---- one request, two servers ----------------------------------------------------

    def generate(self, body):
        try:
            request = json.loads(body)
            if not isinstance(request, dict):
                raise ValueError('an object is wanted')
        except ValueError as e:
            raise Refused(400, f'the body is no JSON: {e}') from e
        request_id = self.headers.get('X-Request-Id') or str(uuid.uuid4())
        (self.at_once if self.options.protocol == 'sglang' else self.in_turn)(request, request_id)

    def in_turn(self, request, request_id):
        """vLLM: prefill computes one token, decode fetches what it left."""
        first = {**request, 'stream': False, 'max_tokens': 1, 'kv_transfer_params': {
            'do_remote_decode': True, 'do_remote_prefill': False, 'remote_engine_id': None,
            'remote_block_ids': None, 'remote_host': None, 'remote_port': None}}
        first.pop('stream_options', None)
        if 'max_completion_tokens' in first:
            first['max_completion_tokens'] = 1
        prefilled = self.ask('prefill', json.dumps(first), request_id)
        if prefilled.status != 200:
            self.relay(prefilled)
            return
        try:
            params = json.load(prefilled).get('kv_transfer_params')
        except (*UNREACHABLE, ValueError) as e:
            raise Refused(502, f'the prefill server broke off: {e}') from e
        self.relay(self.ask('decode', json.dumps({**request, 'kv_transfer_params': params}), request_id))

    def at_once(self, request, request_id):
        """SGLang: both meet in a room of the prefill server's."""
        address = next(filter(self.is_well, self.servers.in_turn('prefill')), None)
        if address is None:
            raise Refused(503, 'no prefill server is well')
        body = json.dumps({**request, 'bootstrap_host': address, 'bootstrap_port': self.options.bootstrap_port,
                           'bootstrap_room': random.randrange(1 << 63)})
        prefill = threading.Thread(target=self.drain, args=(address, body, request_id))
        prefill.start()
        self.relay(self.ask('decode', body, request_id))
        prefill.join()

    def drain(self, address, body, request_id):
        try:
            self.send(address, body, request_id).read()
        except UNREACHABLE as e:
            print(f'prefill server {address}: {e}', file=sys.stderr, flush=True)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument('--listen', default='127.0.0.1:8000', metavar='ADDRESS:PORT')
    p.add_argument('--server-port', type=int, default=8000, help='of all servers (default: %(default)s)')
    p.add_argument('--protocol', choices=('vllm', 'sglang'), default='vllm')
    p.add_argument('--bootstrap-port', type=int, default=8998, help="SGLang's --disaggregation-bootstrap-port")
    options = p.parse_args()
    path = os.environ.get('MUSTER_ROLE_FILE')
    if not path:
        p.error('MUSTER_ROLE_FILE is not set: this is a program for `muster run --role proxy`')
    Proxy.options, Proxy.servers = options, Servers(path)
    signal.signal(signal.SIGURG, lambda *_: Proxy.servers.refresh())
    address, _, port = options.listen.rpartition(':')
    Server((address, int(port)), Proxy).serve_forever()


if __name__ == '__main__':
    main()

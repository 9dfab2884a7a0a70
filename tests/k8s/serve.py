#!/usr/bin/env python3
"""serve.py ARGS...: stands for vLLM and SGLang: says how it was started, and serves /health.

/v1/completions answers as two servers with prefill and decode apart do (vLLM's NixlConnector, SGLang's bootstrap): what
a proxy gets wrong is an error.
"""
import http.server
import json
import os
import signal
import sys

own = os.environ.get('VLLM_HOST_IP', '-')
print(f"attempt {os.environ['MUSTER_ATTEMPT']} at {own}:", *sys.argv[1:], flush=True)
rank = [a.split('=')[1] for a in sys.argv if a.startswith('--node-rank=')]
if rank and rank != ['0']:
    signal.pause()
at = {key: value for key, _, value in (a.partition('=') for a in sys.argv) if key in ('--host', '--port')}


def complete(request, request_id):
    """The answer to a completion: (status, object)."""
    kv = request.get('kv_transfer_params') or {}
    if 'bootstrap_room' in request:
        return 200, {'text': f"at {own}, met at {request['bootstrap_host']}:{request['bootstrap_port']}"}
    if kv.get('do_remote_decode'):
        if request['max_tokens'] != 1 or request['stream'] or 'stream_options' in request:
            return 400, {'error': 'a prefill server computes one token'}
        return 200, {'text': 'x', 'kv_transfer_params': {
            'do_remote_prefill': True, 'do_remote_decode': False, 'remote_host': own, 'remote_port': 5600,
            'remote_engine_id': request_id, 'remote_block_ids': [1, 2]}}
    if kv.get('remote_engine_id') != request_id:
        return 400, {'error': f'no KV cache of request {request_id} in {kv}'}
    return 200, {'text': f"{request['prompt']} x{request['max_tokens']} at {own}, prefilled at {kv['remote_host']}"}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        known = {'/health': '', '/v1/models': json.dumps({'data': [{'id': own}]})}
        self.answer(200 if self.path in known else 404, known.get(self.path, ''))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        status, made = complete(request, self.headers['X-Request-Id'])
        if status == 200 and request.get('stream'):
            self.stream(made)
        else:
            self.answer(status, json.dumps(made))

    def answer(self, status, text):
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def stream(self, made):
        """A word an event, each when the one before was taken."""
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        for data in [json.dumps({'text': word}) for word in made['text'].split()] + ['[DONE]']:
            event = f'data: {data}\n\n'.encode()
            self.wfile.write(b'%x\r\n%s\r\n' % (len(event), event))
        self.wfile.write(b'0\r\n\r\n')


http.server.ThreadingHTTPServer((at.get('--host', '0.0.0.0'), int(at.get('--port', 8000))), Server).serve_forever()

#!/usr/bin/env python3
"""serve.py ARGS...: stands for vLLM and SGLang: says how it was started, and serves /health."""
import http.server
import os
import signal
import sys

print(f"attempt {os.environ['MUSTER_ATTEMPT']} at {os.environ.get('VLLM_HOST_IP', '-')}:",
      *sys.argv[1:], flush=True)
rank = [a.split('=')[1] for a in sys.argv if a.startswith('--node-rank=')]
if rank != ['0']:
    signal.pause()


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == '/health' else 404)
        self.end_headers()


http.server.ThreadingHTTPServer(('0.0.0.0', 8000), Health).serve_forever()

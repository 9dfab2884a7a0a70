#!/usr/bin/env python3
"""A DNS server with faults, for tests: what CoreDNS does on bad days.

  faultdns.py serve ADDRESS[:PORT] STATE LOG    UDP and TCP, until it is killed
  faultdns.py set STATE KEY=VALUE...            change the state: one atomic step
  faultdns.py packets DIR                       write replies as seeds for fuzzing

STATE is a JSON object that is read again for each question. Keys ("a.b=" sets b in the
object a; a VALUE that is no JSON is a string; "KEY=" removes it):
  service   "train.default.svc.cluster.local"
  pods      {"train-0": "10.77.0.16"}: A (or AAAA) of the Service and of each pod, PTR. A list of
            addresses is a pod with several; "0" as first address: it has names, but is not listed
  records   {"NAME": ["ADDRESS", ...]}: further names; "*.corp.example" is a wildcard
  ttl       of all records (5); soa: TTL and minimum of negative answers (ttl)
  mode      good, servfail, refuse, silent, garbage (ends in a record), notcp (cut answers, and
            TCP is refused); a list: each answer takes the next
  old       pods as a server that lags has them
  stale     every STALE-th question is answered from "old"; 1: all. Each client's questions for
            a name and type count for themselves
  nxdomain  {"NAME": N}: every N-th question for it is denied, counted as above
  shuffle   false: addresses in order (true)
  udp       bytes of a UDP answer before it is cut, as CoreDNS does: partial, with TC (1232)
  lag_ms    before each answer

LOG gets a line for each question: "A name", over TCP "A/tcp name".
"""
import ipaddress
import json
import os
import random
import socket
import socketserver
import struct
import sys
import threading
import time

TYPES = {1: "A", 12: "PTR", 28: "AAAA"}
SERVFAIL, NXDOMAIN, REFUSED = 2, 3, 5
HEADER = 12


def encode(name):
    labels = [label for label in name.split(".") if label]
    return b"".join(bytes([len(x)]) + x.encode() for x in labels) + b"\0"


def decode(packet):
    """The question's name and where its type begins."""
    labels, at = [], HEADER
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("ascii", "replace"))
        at += 1 + packet[at]
    return ".".join(labels).lower(), at + 1


def record(kind, value, ttl):
    data = encode(value) if kind == 12 else ipaddress.ip_address(value).packed
    return struct.pack("!HHHIH", 0xC000 | HEADER, kind, 1, ttl, len(data)) + data


def soa(ttl):
    data = encode("ns.") + encode("root.") + struct.pack("!IIIII", 1, 7200, 1800, 86400, ttl)
    return encode("cluster.local") + struct.pack("!HHIH", 6, 1, ttl, len(data)) + data


class Zone:
    """Names and their values, from `pods` and `records` of a state."""

    def __init__(self, state, pods):
        self.values = {}
        service = state.get("service", "train.default.svc.cluster.local")
        for pod, addresses in pods.items():
            listed = [addresses] if isinstance(addresses, str) else list(addresses)
            hidden = listed[:1] == ["0"]
            for address in listed[hidden:]:
                self.add(f"{pod}.{service}", address)
                if not hidden:
                    self.add(service, address)
                reverse = ipaddress.ip_address(address).reverse_pointer
                self.values.setdefault(reverse, {}).setdefault("PTR", []).append(
                    f"{pod}.{service}")
        for name, addresses in state.get("records", {}).items():
            for address in addresses:
                self.add(name, address)

    def add(self, name, address):
        kind = "A" if ipaddress.ip_address(address).version == 4 else "AAAA"
        self.values.setdefault(name.lower(), {}).setdefault(kind, []).append(address)

    def find(self, name):
        """{type: values}, None: there is no such name."""
        if name in self.values:
            return self.values[name]
        for known, values in self.values.items():
            if known.startswith("*.") and name.endswith(known[1:]):
                return values
        return None


class Server:
    def __init__(self, state_path, log_path):
        self.state_path, self.log_path = state_path, log_path
        self.lock = threading.Lock()
        self.questions = 0
        self.asked = {}
        self.seen = None

    def load(self):
        """The state and its zones, built anew when the file is another one."""
        stat = os.stat(self.state_path)
        if self.seen != (stat.st_ino, stat.st_mtime_ns):
            with open(self.state_path, encoding="utf-8") as f:
                self.state = json.load(f)
            self.zone = Zone(self.state, self.state.get("pods", {}))
            self.old = Zone(self.state, self.state.get("old", {}))
            self.seen = (stat.st_ino, stat.st_mtime_ns)
        return self.state

    def mode(self, state):
        mode = state.get("mode", "good")
        return mode if isinstance(mode, str) else mode[self.questions % len(mode)]

    def find(self, state, client, name, kind):
        """What a name has, by the zone whose turn it is; None: there is no such name."""
        who = (client, name, kind)
        turn = self.asked[who] = self.asked.get(who, 0) + 1
        stale, denied = state.get("stale", 0), state.get("nxdomain", {}).get(name, 0)
        if denied and turn % denied == 0:
            return None
        return (self.old if stale and turn % stale == 0 else self.zone).find(name)

    def reply(self, client, packet, tcp):
        """The answer to a question; None: silence."""
        with self.lock:
            state = self.load()
            name, at = decode(packet)
            kind = struct.unpack_from("!H", packet, at)[0]
            self.questions += 1
            with open(self.log_path, "a", encoding="utf-8") as log:
                log.write(f"{TYPES.get(kind, kind)}{'/tcp' if tcp else ''} {name}\n")
            mode = self.mode(state)
            found = self.find(state, client, name, kind)
        time.sleep(state.get("lag_ms", 0) / 1000)
        if mode == "silent":
            return None
        question = packet[HEADER:at + 4]
        return self.build(state, mode, packet[:2], question, kind, found, tcp)

    def build(self, state, mode, ident, question, kind, found, tcp):
        ttl = state.get("ttl", 5)
        values = list((found or {}).get(TYPES.get(kind, ""), []))
        if state.get("shuffle", True):
            random.shuffle(values)
        records = [record(kind, value, ttl) for value in values]
        code = {"servfail": SERVFAIL, "refuse": REFUSED}.get(mode, NXDOMAIN if found is None else 0)
        if code:
            records = []
        authority = [] if records or code in (SERVFAIL, REFUSED) else [soa(state.get("soa", ttl))]
        room = 1 << 16 if tcp else state.get("udp", 1232)
        room -= HEADER + len(question)
        kept = []
        for one in records:
            if len(one) > room:
                break
            room -= len(one)
            kept.append(one)
        cut = len(kept) < len(records)
        if mode == "notcp" and not tcp:
            cut, kept = True, kept[:1]
        claimed = len(kept) + (1 if mode == "garbage" else 0)
        flags = 0x8580 | (0x0200 if cut else 0) | code
        head = ident + struct.pack("!HHHHH", flags, 1, claimed, len(authority), 0)
        return head + question + b"".join(kept) + b"".join(authority)


class Udp(socketserver.BaseRequestHandler):
    def handle(self):
        packet, sock = self.request
        answer = self.server.dns.reply(self.client_address[0], packet, False)
        if answer is not None:
            sock.sendto(answer, self.client_address)


class Tcp(socketserver.BaseRequestHandler):
    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.request.recv(n - len(data))
            if not more:
                return None
            data += more
        return data

    def handle(self):
        dns = self.server.dns
        if dns.load().get("mode") == "notcp":
            return
        while (size := self.exactly(2)) is not None:
            packet = self.exactly(struct.unpack("!H", size)[0])
            answer = dns.reply(self.client_address[0], packet, True) if packet else None
            if answer is not None:
                self.request.sendall(struct.pack("!H", len(answer)) + answer)


class UdpServer(socketserver.ThreadingUDPServer):
    allow_reuse_address = True
    daemon_threads = True


class TcpServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


def serve(where, state_path, log_path):
    host, _, port = where.rpartition(":") if where.count(":") == 1 else (where, "", "53")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    UdpServer.address_family = TcpServer.address_family = family
    dns = Server(state_path, log_path)
    udp = UdpServer((host, int(port)), Udp)
    tcp = TcpServer((host, udp.server_address[1]), Tcp)
    udp.dns = tcp.dns = dns
    threading.Thread(target=tcp.serve_forever, daemon=True).start()
    print(udp.server_address[1], flush=True)
    udp.serve_forever()


def change(state_path, changes):
    state = {}
    if os.path.exists(state_path):
        with open(state_path, encoding="utf-8") as f:
            state = json.load(f)
    for one in changes:
        key, _, text = one.partition("=")
        outer, dot, inner = key.partition(".")
        target = state.setdefault(outer, {}) if dot else state
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        if text:
            target[inner or outer] = value
        else:
            target.pop(inner or outer, None)
    with open(state_path + ".new", "w", encoding="utf-8") as f:
        json.dump(state, f)
    os.replace(state_path + ".new", state_path)


def packets(folder):
    """Replies of each kind: what the fuzzer of the decoder starts from."""
    pods = {f"p-{i}": f"10.1.0.{i + 1}" for i in range(3)}
    pods.update({f"q-{i}": f"fd00::{i + 1}" for i in range(2)})
    state = {"service": "s.n.svc.c.local", "pods": pods, "shuffle": False}
    zone = Zone(state, pods)
    server = Server("", "")
    asked = {"service-a": (1, "s.n.svc.c.local"), "service-aaaa": (28, "s.n.svc.c.local"),
             "pod-a": (1, "p-0.s.n.svc.c.local"), "nodata": (28, "p-0.s.n.svc.c.local"),
             "nxdomain": (1, "p-9.s.n.svc.c.local"), "ptr": (12, "1.0.1.10.in-addr.arpa")}
    os.makedirs(folder, exist_ok=True)
    for mode in ("good", "garbage", "notcp", "servfail"):
        for label, (kind, name) in asked.items():
            question = encode(name) + struct.pack("!HH", kind, 1)
            answer = server.build(state, mode, b"\x12\x34", question, kind, zone.find(name), False)
            with open(os.path.join(folder, f"{label}-{mode}"), "wb") as f:
                f.write(bytes([{1: 0, 28: 1, 12: 2}[kind]]) + answer)


def main(argv):
    if len(argv) == 5 and argv[1] == "serve":
        serve(*argv[2:])
    elif len(argv) > 3 and argv[1] == "set":
        change(argv[2], argv[3:])
    elif len(argv) == 3 and argv[1] == "packets":
        packets(argv[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)

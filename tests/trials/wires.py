"""The network between a bed's pods: rates, drops and changed bytes, on the ports of pairs alone.

Everything is done in the bed's fabric, to packets on their way: neither end has a part in it. What
pod i gets leaves the bridge by the device p<i>.
"""
import ipaddress
import json
import subprocess

# Ports of pairs (launcher/job_pairs.c); masked, as tc's u32 wants it: 16384 to 32767.
PORTS = "20000-31999"
MASKED = "0x4000 0xc000"
TABLE = "trials"
LARGE_BYTES = 1400  # what is lost where one end has larger frames than the way
# A packet of bulk data, that is no handshake and no ping, and a byte behind its headers.
BULK_BYTES = 3000
PAYLOAD_BIT = 480
EVERY = 16  # of those packets one is changed


class Wires:
    """What happens to packets from one pod to another. Pods are numbers."""

    def __init__(self, pods, mb_s):
        self.pods = pods
        self.mb_s = mb_s  # of each pair, where it is not slow
        self.slow, self.dead, self.narrow, self.wrong = {}, set(), set(), set()

    def ways(self, at):
        """From and to a node, or both ways over a link."""
        if len(at) == 2:
            return [at, at[::-1]]
        others = [j for j in range(self.pods) if j != at[0]]
        return [(j, at[0]) for j in others] + [(at[0], j) for j in others]

    def slow_down(self, ways, factor):
        for way in ways:
            self.slow[way] = max(factor, self.slow.get(way, 1))

    def cut(self, ways):
        self.dead.update(ways)

    def lose_large(self, ways):
        self.narrow.update(ways)

    def spoil(self, ways):
        self.wrong.update(ways)


def tc_lines(wires, addresses):
    """For `tc -batch`: a class for all that a pod gets, and one for each slow way to it."""
    lines = []
    for i in range(len(addresses)):
        rates = {3: wires.mb_s}
        filters = [("", 3, 2)]
        for j, address in enumerate(addresses):
            if (j, i) in wires.slow:
                rates[10 + j] = wires.mb_s / wires.slow[j, i]
                filters.append((f"match ip src {address}/32 ", 10 + j, 1))
        lines.append(f"qdisc add dev p{i} root handle 1: htb")
        for number, mb_s in rates.items():
            lines.append(f"class add dev p{i} parent 1: classid 1:{number} htb "
                         f"rate {mb_s * 8000:.0f}kbit burst 64kb quantum 60000")
        for match, number, prio in filters:
            for end in ("sport", "dport"):
                lines.append(f"filter add dev p{i} parent 1: protocol ip prio {prio} u32 "
                             f"{match}match ip {end} {MASKED} flowid 1:{number}")
    return lines


def nft_text(wires, addresses):
    """A table that takes the place of the one before."""
    rules = []
    for ways, what in ((wires.dead, "drop"), (wires.narrow, f"meta length > {LARGE_BYTES} drop"),
                       (wires.wrong, f"meta length > {BULK_BYTES} numgen inc mod {EVERY} 0 "
                                     f"@th,{PAYLOAD_BIT},8 set 0x5a")):
        for source, to in sorted(ways):
            for end in ("sport", "dport"):
                rules.append(f"ip saddr {addresses[source]} ip daddr {addresses[to]} "
                             f"tcp {end} {PORTS} {what}")
    chain = "type filter hook forward priority 0;"
    return (f"table bridge {TABLE}\ndelete table bridge {TABLE}\n"
            f"table bridge {TABLE} {{\n chain forward {{\n  {chain}\n  " +
            "\n  ".join(rules) + "\n }\n}\n")


class Fabric:
    """The namespace of a bed's bridge."""

    def __init__(self, bed_file, addresses):
        with open(bed_file, encoding="utf-8") as f:
            self.pid = json.load(f)["fabric"][0]
        self.addresses = [str(ipaddress.ip_address(a)) for a in addresses]
        self.shaped = False

    def _run(self, command, text):
        subprocess.run(["nsenter", "-t", str(self.pid), "-n", *command], input=text, text=True,
                       check=True, timeout=30)

    def lay(self, wires):
        """These wires, in place of those before."""
        before = [f"qdisc del dev p{i} root" for i in range(len(self.addresses)) if self.shaped]
        self._run(["tc", "-batch", "-"], "\n".join(before + tc_lines(wires, self.addresses)) + "\n")
        self.shaped = True
        self._run(["nft", "-f", "-"], nft_text(wires, self.addresses))

"""Who has to be blamed for what was planted, and whether `muster check` blames them, and nobody else.

Pure: a trial's faults and its JSON in, violations out. See WHO IS BLAMED in muster-checks(7).
"""
import re
from dataclasses import dataclass, field

ALL_MEET = 5  # nodes: so many meet each other, more are a ring (launcher/pairs.h)


@dataclass
class Fault:
    """One that was planted. `at`: (node,) or (node, node), ascending."""
    kind: str
    at: tuple
    alone: bool = False    # the node's own checks fail, so it gets no partners
    own: bool = False      # nothing of it is seen in pairs
    above: bool = True     # the threshold; below it nobody is to be blamed
    why: str = ""          # how the reason begins, a pattern
    said: str = ""         # for people

    def is_link(self):
        return len(self.at) == 2

    def text(self):
        where = "-".join(str(i) for i in self.at)
        more = f" ({self.said})" if self.said else ""
        return f"{self.kind} at {where}{more}" + ("" if self.above else ", below")


def edges(nodes):
    """The pairs that nodes without a fault of their own have for sure."""
    n = len(nodes)
    if n <= ALL_MEET:
        return {(nodes[a], nodes[b]) for b in range(n) for a in range(b)}
    return {tuple(sorted((nodes[i], nodes[(i + 1) % n]))) for i in range(n)}


def fit(n, faults):
    """Who gets partners."""
    alone = {f.at[0] for f in faults if f.alone and f.above}
    return [i for i in range(n) if i not in alone]


@dataclass
class Expected:
    nodes: set = field(default_factory=set)
    links: set = field(default_factory=set)
    unsure: set = field(default_factory=set)  # links that may be told of as unsure


def expected(faults):
    above = [f for f in faults if f.above]
    e = Expected(nodes={f.at[0] for f in above if not f.is_link()})
    # A link of a node at fault is hidden by it.
    e.links = {f.at for f in above if f.is_link() and not e.nodes & set(f.at)}
    # An end that is itself near the threshold is good with nobody: it may be the end.
    below = {f.at[0] for f in faults if not f.above and not f.is_link() and not f.own}
    e.unsure = {link for link in e.links if below & set(link)}
    return e


def number(name):
    return int(re.match(r"train-(\d+)", name)[1])


def reasons_of(member):
    return [(c["check"], c["why"]) for c in member["checks"] if c["verdict"] == "fail"]


def judge_reasons(faults, node, reasons):
    """Each is one that was planted there."""
    whys = [f.why for f in faults if f.above and f.at == (node,)]
    return [f"node {node} is blamed for another reason: {check}: {why}" for check, why in reasons
            if not any(re.search(w, why) for w in whys)]


def judge_members(n, faults, e, report):
    members = report["members"]
    out = []
    if [number(m["name"]) for m in members] != list(range(n)):
        return [f"the members are {[m['name'] for m in members]}"]
    for i, m in enumerate(members):
        if m["verdict"] not in ("pass", "fail"):
            out.append(f"node {i} was not inspected: {m['verdict']}: {m['why']}")
        elif m["verdict"] == "fail" and i not in e.nodes:
            out.append(f"node {i} is blamed: {m['why']}")
        elif m["verdict"] == "pass" and i in e.nodes:
            out.append(f"node {i} is not blamed")
        elif i in e.nodes:
            out += judge_reasons(faults, i, reasons_of(m))
    return out


def judge_links(faults, e, report):
    blamed = {tuple(sorted((number(b["a"]), number(b["b"])))): b for b in report["blamed"]
              if "b" in b}
    out = [f"link {a}-{b} is blamed: {blamed[a, b]['why']}" for a, b in set(blamed) - e.links]
    out += [f"link {a}-{b} is not blamed" for a, b in e.links - set(blamed)]
    for at in e.links & set(blamed):
        b = blamed[at]
        whys = [f.why for f in faults if f.above and f.at == at]
        if not b["sure"] and at not in e.unsure:
            out.append(f"link {at[0]}-{at[1]} is not blamed for sure: {b['why']}")
        if not any(re.search(w, b["why"]) for w in whys):
            out.append(f"link {at[0]}-{at[1]} is blamed for another reason: {b['why']}")
    return out


def judge_sum(e, report, code):
    verdict, want = ("fail", 1) if e.nodes or e.links else ("pass", 0)
    out = [] if code == want else [f"exit code {code}, not {want}"]
    if report["verdict"] != verdict:
        out.append(f"all in all it says {report['verdict']}, not {verdict}")
    return out


def violations(n, faults, report, code):
    """One text for each wrong blame of nodes 0 to n - 1; none: all is as it was planted."""
    e = expected(faults)
    return (judge_members(n, faults, e, report) + judge_links(faults, e, report) +
            judge_sum(e, report, code))


def blamed_text(report):
    nodes = [str(i) for i, m in enumerate(report["members"]) if m["verdict"] == "fail"]
    links = [f"{number(b['a'])}-{number(b['b'])}" for b in report["blamed"] if "b" in b]
    return ", ".join([f"node {x}" for x in nodes] + [f"link {x}" for x in links]) or "nobody"

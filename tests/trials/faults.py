"""The kinds of faults, how each is drawn and planted, and the settings that they are planted in.

A trial is drawn as a whole before anything is done: its setting (what is checked and how), its nodes,
its faults, and a Bench, which says what each pod's stand-ins are told, how fast the network is, which
thresholds are overridden, and which hands reach into which pod.
"""
import random
import time
from dataclasses import dataclass, field

import hand
import judge
import wires

GPUS = 4  # in each pod, says its stand-in for NVML
USUAL_GB_S = 10
XID_WINDOW_S = 60  # a trial's own, so that an event can be older than the machine's start
BASE = {"xid_window_s": XID_WINDOW_S, "rtt_slack_us": 500000}


@dataclass(frozen=True)
class Setting:
    """`cores`: cpucheck runs; other work on the machine counts, so slow is far slower. `edge`: all
    numbers are told by stand-ins or made by tc, so they are compared by the usual factors."""
    name: str
    mb_s: int
    timeout_s: int
    probe_s: int  # deadline of nvprobe
    thresholds: dict


SETTINGS = {
    "cores": Setting("cores", 36, 9, 6, {"slow_factor": 8, "clear_factor": 4}),
    "edge": Setting("edge", 20, 5, 4, {}),
}


@dataclass
class Bench:
    wires: wires.Wires
    thresholds: dict
    nvml: dict = field(default_factory=dict)   # pod: what FAKE_NVML says
    kmsg: dict = field(default_factory=dict)   # pod: lines of its kernel's log, to be made
    rates: dict = field(default_factory=dict)  # pod: GB/s of its copies, as a stand-in tells
    hands: list = field(default_factory=list)  # functions: pids of all agents -> a hand

    def tell(self, pod, words):
        self.nvml.setdefault(pod, []).append(words)


# ---- in cpucheck's memory ---------------------------------------------------------------

def flip(strike, what):
    def plant(rng, fault, bench):
        core = rng.randrange(hand.layout()[0])
        fault.why = rf"^core \d+: {what}"
        bench.hands.append(lambda agents: hand.Flip(agents[fault.at[0]], core, strike))
    return plant


def plant_freeze(rng, fault, bench):
    whole = rng.random() < 0.5
    fault.said = "check and worker" if whole else "worker"
    fault.why = r"^it did not end within" if whole else r"^it hangs \(deadline"
    bench.hands.append(lambda agents: hand.Freeze(agents[fault.at[0]], whole))


# ---- what NVML and the kernel's log say ---------------------------------------------------

def plant_gpu_missing(rng, fault, bench):
    left = rng.randrange(GPUS)
    bench.tell(fault.at[0], f"count={left}")
    fault.said, fault.why = f"{left} of {GPUS} are left", rf"^{left} of {GPUS} GPUs are there"


def plant_gpu_hang(rng, fault, bench):
    call = rng.choice(["RemappedRows", "Temperature", "Handle", "EccMode"])
    gpu = rng.randrange(GPUS)
    bench.tell(fault.at[0], f"hang={call}:{gpu}")
    fault.said, fault.why = call, rf"^it hangs \(deadline: .*{call}"


def plant_gpu_lost(rng, fault, bench):
    gpu = rng.randrange(GPUS)
    bench.tell(fault.at[0], f"fail=Temperature:{gpu}:15")
    fault.why = rf"^device {gpu}: nvmlDeviceGetTemperature: GPU is lost"


def plant_gpu_remap(rng, fault, bench):
    gpu = rng.randrange(GPUS)
    what = rng.choice(["RemappedRows", "RemapPending"])
    bench.tell(fault.at[0], f"set={what}:{gpu}:1")
    fault.said, fault.why = what, rf"^device {gpu}: a row "


def plant_ecc(rng, fault, bench):
    most = bench.thresholds.setdefault("gpu_uncorrected_max", rng.randrange(20))
    gpu, errors = rng.randrange(GPUS), most + fault.above
    bench.tell(fault.at[0], f"set=Uncorrected:{gpu}:{errors}")
    fault.said = f"{errors}, {most} are allowed"
    fault.why = rf"^device {gpu}: {errors} uncorrected ECC errors"


def plant_pages(rng, fault, bench):
    """The stand-in says the same of both causes."""
    each = bench.thresholds.setdefault("gpu_retired_pages_max", 2 * rng.randint(1, 40)) // 2
    gpu, pages = rng.randrange(GPUS), each + fault.above
    bench.tell(fault.at[0], f"set=RetiredPages:{gpu}:{pages}")
    fault.said = f"{2 * pages}, {2 * each} are allowed"
    fault.why = rf"^device {gpu}: {2 * pages} pages are retired"


def plant_heat(rng, fault, bench):
    margin = bench.thresholds.setdefault("gpu_temperature_margin_c", rng.randrange(20))
    gpu, degrees = rng.randrange(GPUS), 87 - margin - (not fault.above)
    bench.tell(fault.at[0], f"set=Temperature:{gpu}:{degrees}")
    fault.said = f"{degrees}, {87 - margin} is too hot"
    fault.why = rf"^device {gpu}: {degrees} degrees"


def plant_lanes(rng, fault, bench):
    share = bench.thresholds.setdefault("gpu_pcie_width_share", rng.choice([0.25, 0.5, 1]))
    least = int(16 * share)
    gpu, lanes = rng.randrange(GPUS), least // 2 if fault.above else least
    bench.tell(fault.at[0], f"set=CurrPcieLinkWidth:{gpu}:{lanes}")
    fault.said = f"{lanes} of 16, {least} are enough"
    fault.why = rf"^device {gpu}: its PCIe link has {lanes} lanes"


def plant_xid(rng, fault, bench):
    """Below: an application's, or one that is too old to count."""
    gpu = rng.randrange(GPUS)
    xid, age_s = rng.choice([(79, 61), (48, 30), (149, 30)] if fault.above else
                            [(31, 1), (109, 1), (48, XID_WINDOW_S + 1)])
    bench.kmsg.setdefault(fault.at[0], []).append((age_s, gpu, xid))
    fault.said = f"{xid}, {age_s} s old"
    fault.why = rf"^device {gpu}: Xid {xid} in the kernel's log"


def kmsg_text(events):
    now_us = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
    return "".join(f"4,{i},{now_us - age_s * 1000000},-;NVRM: Xid (PCI:0000:{0x30 + gpu:x}:00): "
                   f"{xid}, planted\n" for i, (age_s, gpu, xid) in enumerate(events))


def plant_copies(rng, fault, bench):
    factor = rng.uniform(2.01, 4) if fault.above else rng.uniform(1.1, 1.99)
    bench.rates[fault.at[0]] = USUAL_GB_S / factor
    fault.said, fault.why = f"1/{factor:.2f}", r"^its copies are slow"


# ---- the network --------------------------------------------------------------------------

def plant_slow(rng, fault, bench):
    slow = {**{"slow_factor": 2}, **bench.thresholds}["slow_factor"]
    clear = {**{"clear_factor": 1.5}, **bench.thresholds}["clear_factor"]
    factor = rng.uniform(slow * 1.2, slow * 1.6) if fault.above else rng.uniform(1, slow * 0.85)
    ways = bench.wires.ways(fault.at)
    half = rng.random() < 0.5  # one direction is enough
    bench.wires.slow_down(ways[:len(ways) // 2] if half else ways, factor)
    fault.said = f"1/{factor:.2f}{', one way' if half else ''}"
    fault.why = r"\bslow (between|with)"


def plant_dead(rng, fault, bench):
    ways = bench.wires.ways(fault.at)
    half, large = rng.random() < 0.5, rng.random() < 0.5
    (bench.wires.lose_large if large else bench.wires.cut)(ways[:len(ways) // 2] if half else ways)
    fault.said = ("large packets, " if large else "") + ("one way" if half else "both ways")
    fault.why = r"\bno end (between|with)"


def plant_wrong(rng, fault, bench):
    bench.wires.spoil(bench.wires.ways(fault.at))
    fault.why = r"\bwrong bytes (between|with)"


# ---- the table ------------------------------------------------------------------------------

@dataclass(frozen=True)
class Kind:
    plant: object
    settings: str        # where it can be planted
    weight: int
    alone: bool = False  # Fault
    own: bool = False
    near: bool = False   # half of them are below the threshold
    nodes: int = 1       # 2: a link


def of_node(plant, settings, weight, **more):
    return Kind(plant, settings, weight, alone=True, own=True, **more)


KINDS = {
    "bit in memory": of_node(flip(hand.strike_march, "march: 1 wrong words"), "cores", 4),
    "bit in a copy": of_node(flip(hand.strike_copy, "copy: 1 wrong words"), "cores", 4),
    "bit in a product": of_node(flip(hand.strike_product, r"fp\d+ product: 1 wrong"), "cores", 4),
    "frozen probe": of_node(plant_freeze, "cores", 2),
    "hanging driver": of_node(plant_gpu_hang, "cores edge", 2),
    "missing GPU": of_node(plant_gpu_missing, "cores edge", 2),
    "lost GPU": of_node(plant_gpu_lost, "cores edge", 1),
    "rows to remap": of_node(plant_gpu_remap, "cores edge", 1),
    "ECC errors": of_node(plant_ecc, "edge", 2, near=True),
    "retired pages": of_node(plant_pages, "edge", 2, near=True),
    "heat": of_node(plant_heat, "edge", 2, near=True),
    "PCIe lanes": of_node(plant_lanes, "edge", 1, near=True),
    "Xid": of_node(plant_xid, "cores edge", 3, near=True),
    "slow copies": Kind(plant_copies, "edge", 3, own=True, near=True),
    "slow node": Kind(plant_slow, "cores edge", 5, near=True),
    "slow link": Kind(plant_slow, "cores edge", 6, near=True, nodes=2),
    "dead node": Kind(plant_dead, "edge", 2),
    "dead link": Kind(plant_dead, "edge", 2, nodes=2),
    "node that spoils": Kind(plant_wrong, "cores edge", 2),
    "link that spoils": Kind(plant_wrong, "cores edge", 3, nodes=2),
}


@dataclass
class Trial:
    number: int
    setting: Setting
    nodes: int
    faults: list
    bench: Bench


def draw_place(rng, kind, nodes, faults):
    """None: there is none left. A link is one that has a pair for sure."""
    if kind.nodes == 2:
        places = sorted(judge.edges(judge.fit(nodes, faults)))
    else:
        taken = {f.at[0] for f in faults if f.own}
        places = [(i,) for i in range(nodes) if not (kind.own and i in taken)]
    return rng.choice(places) if places else None


def draw(seed, number, pods, only=None):
    """Trial `number`: the same for the same arguments, whatever was before. only: a kind."""
    rng = random.Random(f"{seed}/{number}")
    setting = SETTINGS[rng.choice(KINDS[only].settings.split() if only else ["cores", "edge", "edge"])]
    kinds = [k for k, v in KINDS.items() if setting.name in v.settings.split() and only in (None, k)]
    many = rng.choices([0, 1, 2], [1, 5, 5])[0]
    nodes = rng.randint(3 if many < 2 else 4, pods)
    trial = Trial(number, setting, nodes, [],
                  Bench(wires.Wires(nodes, setting.mb_s), {**BASE, **setting.thresholds}))
    names = rng.choices(kinds, [KINDS[k].weight for k in kinds], k=many)
    # Who fails alone first: which links have a pair depends on it.
    for name in sorted(names, key=lambda k: not KINDS[k].alone):
        kind = KINDS[name]
        at = draw_place(rng, kind, nodes, trial.faults)
        if at is None:
            continue
        fault = judge.Fault(name, at, kind.alone, kind.own, not kind.near or rng.random() < 0.5)
        kind.plant(rng, fault, trial.bench)
        trial.faults.append(fault)
    return trial

"""Hands that reach into a running cpucheck from outside: they flip one bit, or hold it.

A hand waits for the worker (the child of cpucheck), stops all its threads, looks at its memory, and
strikes only where what it changes has yet to be verified; else it lets it run on for a moment. Where
the moment is missed, `struck` stays false. kernels/check/ knows nothing of this; what is known of it
here is in march.h (the passes), core.c (copies: first half to second) and product.h (C comes first).
"""
import os
import signal
import threading
import time

SEED = 7  # of cpucheck: --seed
MASK = (1 << 64) - 1
BLOCK = 512  # words: march.h
NEAR = 2 * BLOCK
N = 256  # product.h
CORE_MIN = 4 << 20  # bytes: core.h
CORES = len(os.sched_getaffinity(0))
MEMORY = min(32 * CORES, 512) << 20  # bytes: cpucheck's --memory
PAUSE_S = 0.0002
NICE = -10  # the moment is short


def pattern(seed, place):
    """pattern.h"""
    x = (place + seed) * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 32
    x = x * 0xD6E8FEB86659FD93 & MASK
    return x ^ x >> 32


def layout():
    """How cores.c cuts MEMORY: slices, and bytes of each."""
    slices = min(MEMORY // CORE_MIN, CORES)
    grain = 8 * 2 * BLOCK
    return slices, MEMORY // slices // grain * grain


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def children(pid):
    return read(f"/proc/{pid}/task/{pid}/children").split()


def find_worker(agent, name):
    """(check, worker) below an agent, or None."""
    left = [b"%d" % agent]
    while left:
        pid = left.pop().decode()
        below = children(pid)
        if read(f"/proc/{pid}/comm").strip() == name and below:
            return int(pid), int(below[0])
        left += below
    return None


def states(pid):
    """Of all threads, as a set of letters; empty: it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return set()
    return {read(f"/proc/{pid}/task/{t}/stat").rpartition(b")")[2][1:2] for t in threads}


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Memory:
    """A stopped worker's memory under test."""

    def __init__(self, pid):
        self.pid = pid
        self.file = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)
        self.slices, self.slice = layout()
        self.begin = None

    def is_there(self):
        for line in read(f"/proc/{self.pid}/maps").splitlines():
            span, rights = line.split()[:2]
            first, last = (int(x, 16) for x in span.split(b"-"))
            if rights == b"rw-p" and last - first == self.slice * self.slices:
                self.begin = first
                return True
        return False

    def word(self, address):
        return int.from_bytes(os.pread(self.file, 8, address), "little")

    def flip(self, address, bits):
        byte = os.pread(self.file, 1, address)[0]
        os.pwrite(self.file, bytes([byte ^ bits]), address)

    def close(self):
        os.close(self.file)


class Slice:
    """One core's part of it, in words."""

    def __init__(self, memory, core):
        self.memory = memory
        self.base = memory.begin + core * memory.slice
        self.words = memory.slice // 8

    def word(self, i):
        return self.memory.word(self.base + 8 * i)

    def march_state(self, i):
        """1: the pattern; -1: inverted; 0: neither."""
        word, want = self.word(i), pattern(SEED, self.base + 8 * i)
        return {want: 1, want ^ MASK: -1}.get(word, 0)

    def is_early(self):
        """In pass 1, 2 or 3 of the march."""
        first = self.march_state(0)
        return first == -1 or (first == 1 and self.march_state(self.words - 1) == 0)


def strike_march(s):
    at = s.words // 4 + 77
    here = s.march_state(at)
    if not s.is_early() or here == 0 or any(s.march_state(at + d) != here for d in (-NEAR, NEAR)):
        return False
    s.memory.flip(s.base + 8 * at + 2, 0x10)
    return True


def strike_copy(s):
    """A copy has begun, is beyond the word, and is not at its end."""
    half = s.words // 2

    def filled(seed, i):
        return pattern(seed, s.base + 8 * i)
    for seed in range(SEED + 1, SEED + 4):
        if (s.word(half - 1) == filled(seed, half - 1) and s.word(half + NEAR) == filled(seed, NEAR)
                and s.word(s.words - 1) != filled(seed, half - 1)):
            s.memory.flip(s.base + 8 * (half + 8) + 7, 0x80)
            return True
    return False


def strike_product(s):
    """Rows that are not computed yet have all bits set."""
    for size in (4, 8):
        def has_row(row, size=size):
            return s.word(row * N * size // 8) != MASK
        if has_row(8) and not has_row(N - 1) and not has_row(N - 5):
            s.memory.flip(s.base + (2 * N + 5) * size + size - 1, 0x80)
            return True
    return False


class Hand(threading.Thread):
    """At work until the worker was struck, or has ended, or end() is called."""

    def __init__(self, agent):
        super().__init__(daemon=True)
        self.agent = agent
        self.over = threading.Event()
        self.struck = False

    def end(self):
        self.over.set()
        self.join()

    def run(self):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        found = None
        while found is None and not self.over.is_set():
            time.sleep(2 * PAUSE_S)
            found = find_worker(self.agent, b"cpucheck")
        if found is not None:
            self.struck = self.work(*found)

    def stop(self, pid):
        """False: it has ended."""
        send(pid, signal.SIGSTOP)
        while not self.over.is_set():
            now = states(pid)
            if now <= {b"Z", b"X", b""}:
                return False
            if now == {b"T"}:
                return True
        return False


class Flip(Hand):
    """One bit, of one core's memory."""

    def __init__(self, agent, core, strike):
        super().__init__(agent)
        self.core, self.strike = core, strike

    def work(self, check, pid):
        memory = None
        try:
            memory = Memory(pid)
            while self.stop(pid):
                if memory.begin is not None or memory.is_there():
                    if self.strike(Slice(memory, self.core)):
                        return True
                send(pid, signal.SIGCONT)
                time.sleep(PAUSE_S)
            return False
        except (OSError, IndexError):
            return False  # it has ended meanwhile
        finally:
            send(pid, signal.SIGCONT)
            if memory is not None:
                memory.close()


class Freeze(Hand):
    """The worker, or the whole check, stands still, before its march is over."""

    def __init__(self, agent, whole):
        super().__init__(agent)
        self.whole = whole

    def work(self, check, pid):
        memory = None
        try:
            memory = Memory(pid)
            if not self.stop(pid):
                return False
            early = not memory.is_there() or all(
                Slice(memory, core).is_early() or Slice(memory, core).word(0) == 0
                for core in range(memory.slices))
            if early and self.whole:
                send(check, signal.SIGSTOP)
            if not early:
                send(pid, signal.SIGCONT)
            return early
        except OSError:
            return False
        finally:
            if memory is not None:
                memory.close()

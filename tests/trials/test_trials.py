"""The judge of ./dev trials, and its draws, without any pod."""
import copy
import unittest

import faults
import judge
import wires

WELL = {"check": "cpu", "verdict": "pass", "why": ""}


def report(n, bad=None, links=()):
    """What muster check would print: `bad`, a reason for each node; links: (a, b, sure, why)."""
    bad = bad or {}
    members = [{"name": f"train-{i}.train", "verdict": "fail" if i in bad else "pass",
                "why": bad.get(i, ""),
                "checks": [WELL] + [{"check": "x", "verdict": "fail", "why": bad.get(i, "")}] * (i in bad)}
               for i in range(n)]
    blamed = [{"a": f"train-{a}.train", "b": f"train-{b}.train", "sure": sure, "why": why}
              for a, b, sure, why in links]
    return {"verdict": "fail" if bad or links else "pass", "members": members, "blamed": blamed}


SLOW = "train-1.train and train-2.train: slow between them (1 MB/s, the median is 9)"
NODE = judge.Fault("missing GPU", (3,), alone=True, own=True, why="^3 of 4 GPUs")
LINK = judge.Fault("slow link", (1, 2), why=r"\bslow between")


class Judge(unittest.TestCase):
    def wrong(self, planted, said, code, n=5):
        return " / ".join(judge.violations(n, planted, said, code))

    def test_exactly_what_was_planted(self):
        self.assertEqual("", self.wrong([], report(5), 0))
        self.assertEqual("", self.wrong([NODE, LINK], report(5, {3: "3 of 4 GPUs are there"},
                                                             [(1, 2, True, SLOW)]), 1))

    def test_one_too_many(self):
        self.assertIn("node 0 is blamed: why not", self.wrong([], report(5, {0: "why not"}), 1))
        self.assertIn("link 1-2 is blamed", self.wrong([], report(5, {}, [(2, 1, True, SLOW)]), 1))

    def test_one_too_few(self):
        self.assertIn("node 3 is not blamed", self.wrong([NODE], report(5), 0))
        self.assertIn("link 1-2 is not blamed", self.wrong([LINK], report(5), 0))

    def test_the_end_instead_of_the_link(self):
        said = self.wrong([LINK], report(5, {1: "slow with different partners"}), 1)
        self.assertIn("node 1 is blamed", said)
        self.assertIn("link 1-2 is not blamed", said)

    def test_another_reason(self):
        self.assertIn("another reason: x: it hangs", self.wrong([NODE], report(5, {3: "it hangs"}), 1))
        self.assertIn("another reason", self.wrong([LINK], report(5, {}, [(1, 2, True, "no end")]), 1))

    def test_not_for_sure(self):
        said = report(5, {}, [(1, 2, False, SLOW)])
        self.assertIn("not blamed for sure", self.wrong([LINK], said, 1))
        below = judge.Fault("slow node", (2,), above=False)
        self.assertEqual("", self.wrong([LINK, below], said, 1))

    def test_code_and_sum(self):
        self.assertIn("exit code 0, not 1", self.wrong([LINK], report(5, {}, [(1, 2, True, SLOW)]), 0))
        self.assertIn("exit code 2, not 0", self.wrong([], report(5), 2))
        self.assertIn("it says fail", self.wrong([], {**report(5), "verdict": "fail"}, 0))

    def test_who_was_not_inspected(self):
        said = copy.deepcopy(report(5))
        said["members"][4].update(verdict="could-not-run", why="time")
        self.assertIn("node 4 was not inspected", self.wrong([], said, 2))
        self.assertIn("the members are", self.wrong([], report(4), 0))

    def test_what_hides_what(self):
        e = judge.expected([LINK, judge.Fault("slow node", (2,)), judge.Fault("heat", (0,), above=False)])
        self.assertEqual(({2}, set()), (e.nodes, e.links))

    def test_pairs_that_there_are(self):
        self.assertEqual({(0, 2), (0, 5), (2, 5)}, judge.edges([0, 2, 5]))
        self.assertEqual(10, len(judge.edges(range(5))))
        self.assertEqual({(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)}, judge.edges(range(6)))


class Draws(unittest.TestCase):
    def trials(self, seed):
        return [faults.draw(seed, k, 6) for k in range(1, 400)]

    def test_the_same_again(self):
        def seen(seed):
            return [(t.nodes, [f.text() for f in t.faults], t.bench.wires.slow) for t in self.trials(seed)]
        self.assertEqual(seen(7), seen(7))
        self.assertNotEqual(seen(7), seen(8))

    def test_every_kind_on_both_sides_of_its_threshold(self):
        drawn = {(f.kind, f.above) for t in self.trials(1) for f in t.faults}
        near = {(k, False) for k, v in faults.KINDS.items() if v.near}
        self.assertEqual(drawn, {(k, True) for k in faults.KINDS} | near)

    def test_places(self):
        for t in self.trials(3):
            alone = [f.at[0] for f in t.faults if f.own]
            self.assertEqual(len(alone), len(set(alone)))
            for f in t.faults:
                self.assertTrue(all(0 <= i < t.nodes for i in f.at))
                self.assertTrue(f.why)
                if f.is_link():
                    self.assertIn(f.at, judge.edges(judge.fit(t.nodes, t.faults)))

    def test_wires(self):
        w = wires.Wires(3, 20)
        w.slow_down(w.ways((0, 2)), 4)
        w.slow_down(w.ways((2,))[:2], 2)
        self.assertEqual({(0, 2): 4, (2, 0): 4, (1, 2): 2}, w.slow)
        lines = wires.tc_lines(w, ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
        self.assertIn("class add dev p2 parent 1: classid 1:10 htb rate 40000kbit burst 64kb quantum 60000", lines)
        w.cut(w.ways((0, 1))[:1])
        self.assertEqual(2, wires.nft_text(w, ["10.0.0.1", "10.0.0.2", "10.0.0.3"]).count(
            "ip saddr 10.0.0.1 ip daddr 10.0.0.2"))


if __name__ == "__main__":
    unittest.main()

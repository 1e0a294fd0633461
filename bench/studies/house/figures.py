# SPDX-License-Identifier: BSD-3-Clause
"""What samples say: medians over rounds, their spread, and ratios of columns round by round.

A ratio is always such that less is better: time over time, or rate under rate. The spread is the distance between the
quartiles as a part of the median."""
import collections
import statistics

# Units of which less is better; of all others (rates, parts of a GPU that are busy) more is.
COSTS = {"ns", "us", "ms", "s", "min", "switches", "J", "MiB", "%cpu"}
WIDE = 0.10

Point = collections.namedtuple("Point", "median low high spread count")


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def point(values):
    middle = statistics.median(values)
    low, high = quartiles(values)
    return Point(middle, min(values), max(values), (high - low) / abs(middle) if middle else 0.0, len(values))


Key = collections.namedtuple("Key", "study program figure column x")


class Figures:
    """All samples of one machine: of one file of results, or of several that were made on the same."""

    def __init__(self, all_results):
        gathered = collections.defaultdict(lambda: collections.defaultdict(list))
        self.units, self.order = {}, []
        for number, results in enumerate(all_results):
            for sample in results.samples:
                key = Key(sample["study"], sample["program"], sample["figure"], sample["column"], sample.get("x"))
                if key not in self.units:
                    self.units[key] = sample["unit"]
                    self.order.append(key)
                gathered[key][number, sample["round"]].append(sample["value"])
        self.rounds = {key: {number: statistics.median(values) for number, values in rounds.items()}
                       for key, rounds in gathered.items()}

    def keys(self, study, figure=None, program=None, column=None):
        return [key for key in self.order if key.study == study and figure in (None, key.figure)
                and program in (None, key.program) and column in (None, key.column)]

    def count(self, study):
        return len(self.keys(study))

    def point(self, key):
        return point(list(self.rounds[key].values())) if key in self.rounds else None

    def unit(self, key):
        return self.units[key]

    def ratio(self, key, base):
        """The point of our ratios to column BASE, or None where one of both was not measured."""
        other = key._replace(column=base)
        if key not in self.rounds or other not in self.rounds:
            return None
        ours, theirs = self.rounds[key], self.rounds[other]
        pairs = [(ours[number], theirs[number]) for number in ours.keys() & theirs.keys()]
        if not pairs:
            pairs = [(statistics.median(ours.values()), statistics.median(theirs.values()))]
        if self.units[key] not in COSTS:
            pairs = [(b, a) for a, b in pairs]
        values = [a / b for a, b in pairs if b]
        return point(values) if values else None

    def find(self, study, figure, column, x=None, program=None):
        """The key of a figure, whose x may be left out where there is one only."""
        found = [key for key in self.keys(study, figure, program, column) if x is None or key.x == x]
        return found[-1] if found else None


def wide_spreads(figures, study):
    """The figures of a study whose rounds disagree; those of fewer than three rounds cannot tell."""
    points = [(key, figures.point(key)) for key in figures.keys(study)]
    return [(key, p) for key, p in points if p.count > 2 and p.spread > WIDE]


def shown(value, unit):
    """A value for people."""
    if unit in ("us", "ms", "s"):
        seconds = value * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
        for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if abs(seconds) >= scale:
                return "%.3g %s" % (seconds / scale, name)
        return "%.2f µs" % (seconds * 1e6)
    if float(value).is_integer() and abs(value) < 1e6:
        return ("%d %s" % (value, unit)).strip()
    return ("%.4g %s" % (value, unit)).strip()


def shown_size(x):
    """A size for people: from 64 KiB on whole KiB and MiB, what is smaller as it is."""
    if x is None:
        return ""
    if isinstance(x, (int, float)) and x >= 1 << 16 and x == int(x):
        for scale, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
            if x % scale == 0:
                return "%d%s" % (x // scale, name)
    return str(x)

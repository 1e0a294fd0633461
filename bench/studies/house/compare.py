# SPDX-License-Identifier: BSD-3-Clause
"""bench/studies/compare: what two runs say of the same figures, those first that differ most."""
import argparse
import sys

from house import record
from house.figures import COSTS, Figures, shown, shown_size
from house.machine import same_machine


def arguments(argv):
    p = argparse.ArgumentParser(prog="bench/studies/compare", description="Sets the figures of two runs beside each other. The change is "
                                "time over time (rates the other way round): more than 1 is worse in B. Differences within the "
                                "spread of both runs are left out unless --all.")
    p.add_argument("a", metavar="A", help="directory or file of the first run")
    p.add_argument("b", metavar="B", help="of the second")
    p.add_argument("--all", action="store_true", help="all figures, also those that hardly differ")
    p.add_argument("--ratios", action="store_true", help="compare ratios to the first column instead of values: for runs on "
                   "different or differently busy machines")
    return p.parse_args(argv)


def apart(a, b):
    """Whether no round of one lies within those of the other."""
    return a.low > b.high or b.low > a.high


def rows(a, b, base):
    """(change, key, A, B, unit) of each figure that both have."""
    for key in a.order:
        unit = "×" if base else a.unit(key)
        one = a.ratio(key, base) if base else a.point(key)
        two = b.ratio(key, base) if base else b.point(key)
        if not one or not two or not one.median or not two.median or key.column == base:
            continue
        worse = two.median / one.median
        if not base and a.unit(key) not in COSTS:
            worse = 1 / worse
        yield worse, key, one, two, unit


def main(argv):
    options = arguments(argv)
    try:
        both = [record.Results(path) for path in (options.a, options.b)]
    except record.ResultError as error:
        sys.exit("compare: %s" % error)
    if not same_machine(both[0].run["machine"], both[1].run["machine"]) and not options.ratios:
        print("compare: the runs are of different machines, drivers or versions of rgpu: --ratios compares ratios", file=sys.stderr)
    a, b = Figures(both[:1]), Figures(both[1:])
    base = "native" if options.ratios else None
    found = list(rows(a, b, base))
    only = len(set(a.order) ^ set(b.order))
    shown_rows = [row for row in found if options.all or apart(row[2], row[3])]
    shown_rows.sort(key=lambda row: -max(row[0], 1 / row[0]))
    for worse, key, one, two, unit in shown_rows:
        print("%5.2f  %-10s %-14s %-30s %-7s %-12s %12s -> %s" % (
            worse, key.study, key.program, key.figure, shown_size(key.x), key.column, shown(one.median, unit),
            shown(two.median, unit)))
    print("%d figures in both runs, %d differ beyond their spread, %d are in one only" %
          (len(found), len([row for row in found if apart(row[2], row[3])]), only))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints which share of the branches of the broker's and the agent's decisions was taken, from what gcov has counted.

    tests/simulation/coverage.py BUILD [--lines]      --lines: also the lines with branches that were never taken
"""
import glob
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
POOL = ("capacity", "claims", "forecast", "near", "plan", "pool", "queue", "request", "reserve", "survey")
AGENT = ("broker_agent", "broker_history", "broker_orders", "revocations", "served_leases")
# Restoration of a copy handles files of a broker that does not run.
FILES = (sorted({os.path.relpath(path, TOP) for path in glob.glob(TOP + "/broker/leases/*.c")} - {"broker/leases/restoration.c"})
         + ["broker/pool/%s.c" % name for name in POOL] + ["daemon/rgpud/broker/%s.c" % name for name in AGENT])


# Whether a message is written is no decision. A loop of jansson asks twice whether it is at its end, and the second answer is no.
MESSAGE = re.compile(r"^\s*log_\w+\(")
LOOP = re.compile(r"^\s*json_(array|object)_foreach\(")


def decisions(path, found):
    """Returns the branches without those that decide nothing."""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        source = file.read().split("\n")
    kept = {}
    for number, counts in found.items():
        if LOOP.search(source[number - 1]) and 0 in counts:
            counts = counts[:counts.index(0)] + counts[counts.index(0) + 1:]
        if not MESSAGE.search(source[number - 1]):
            kept[number] = counts
    return kept


def branches(build, path):
    """Returns how often each branch of the file was taken, as {line: [counts]}."""
    counts = build + "/obj/" + path[:-2] + ".gcda"
    if not os.path.exists(counts):
        return {}
    text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", counts], cwd=TOP,
                          capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        for file in json.loads(line)["files"]:
            if file["file"] == path:
                for entry in file["lines"]:
                    if entry["branches"]:
                        found[entry["line_number"]] = [branch["count"] for branch in entry["branches"]]
    return found


def main():
    build, show_lines = sys.argv[1], "--lines" in sys.argv
    all_taken = all_branches = raw_taken = raw_branches = 0
    for path in FILES:
        found = branches(build, path)
        raw_taken += sum(count > 0 for counts in found.values() for count in counts)
        raw_branches += sum(map(len, found.values()))
        found = decisions(path, found)
        total = sum(len(counts) for counts in found.values())
        taken = sum(count > 0 for counts in found.values() for count in counts)
        all_taken += taken
        all_branches += total
        print("%5.1f %%  %4d of %4d  %s" % (100 * taken / total if total else 0, taken, total, path))
        if show_lines:
            with open(os.path.join(TOP, path), encoding="utf-8") as file:
                source = file.read().split("\n")
            for number, counts in sorted(found.items()):
                if 0 in counts:
                    print("    %d: %s   %s" % (number, source[number - 1].strip(), counts))
    print("%5.1f %%  %4d of %4d  all" % (100 * all_taken / all_branches, all_taken, all_branches))
    print("%5.1f %%  %4d of %4d  with messages and the second end of jansson's loops" % (
        100 * raw_taken / raw_branches, raw_taken, raw_branches))


if __name__ == "__main__":
    main()

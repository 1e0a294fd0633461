#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures copies by each forced path and by the path that rgpu chooses, in turns, and prints the cost of the choice.

    bench/paths.py [--transport NAME]... [--rounds N] [--copies N] [--json FILE]

It starts boxes of its own on this machine, on the software GPU where there is no other. Times are medians over the rounds,
in microseconds for each copy; a round has each path once, in an order of its own. Ratio: the chosen path's time to the best
forced one's. The least of several times that are measured with noise is too small, so which forced path is best is found
in every other round, and its time in those between. A round has the chosen path twice; "noise" is the ratio of these two.
"""
import argparse
import glob
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
# The paths that differ on each transport; an unavailable path is replaced by another.
PATHS = {"shm": ("inline", "staged", "mapped"), "vm": ("inline", "staged", "mapped"),
         "rdma": ("inline", "staged", "one-sided", "direct"), "tcp": ("inline", "staged")}
AGAIN = "auto again"


class Box:
    """A box on a port of its own, whose state is in a directory that goes with it."""

    def __init__(self, devices):
        self.state = tempfile.TemporaryDirectory(prefix="rgpu-paths-")
        ready = os.path.join(self.state.name, "log")
        command = [os.path.join(BUILD, "bin/rgpud"), "--standalone", "--listen", "127.0.0.1:0",
                   "--state-dir", self.state.name, "--admin-socket",
                   os.path.join(self.state.name, "socket")]
        if devices:
            command += ["--devices", devices]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.address = None
        for line in self.process.stderr:
            if " ready listen=" in line:
                self.address = line.split(" listen=")[1].split()[0].strip(",")
                break
        if not self.address:
            sys.exit("the box did not start")
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.drain.wait()
        self.state.cleanup()


def run(box, transport, paths, copies):
    environment = dict(os.environ, RGPU_BOXES=box.address, RGPU_TRANSPORT=transport,
                       RGPU_PATHS=paths,
                       LD_LIBRARY_PATH=os.path.join(BUILD, "lib") + ":" +
                       os.environ.get("LD_LIBRARY_PATH", ""))
    program = os.path.join(BUILD, "bench/path-times")
    if not os.path.exists(program):
        sys.exit("bench/paths.py: %s is not built: make bench-programs" % program)
    output = subprocess.run([program, str(copies)], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {(row["use"], row["pattern"], row["bytes"]): row for row in rows}


def measure(transport, options):
    """For each kind of copy its times by path, a list with one for each round."""
    times, ways = {}, list(PATHS[transport]) + ["auto", AGAIN]
    box = Box(options.devices)
    try:
        for _ in range(options.rounds):
            random.shuffle(ways)
            for way in ways:
                for kind, row in run(box, transport, "auto" if way == AGAIN else way, options.copies).items():
                    times.setdefault(kind, {}).setdefault(way, []).append(row["median"])
    finally:
        box.close()
    return times


def compared(row, names):
    """The chosen path's time to that of the best forced one, and to its own."""
    ratios = []
    for half in (0, 1):
        here, there = (lambda way, start=start: statistics.median(row[way][start::2]) for start in (half, 1 - half))
        ratios.append(there("auto") / there(min(names, key=here)))
    return statistics.mean(ratios), statistics.median(row["auto"]) / statistics.median(row[AGAIN])


def table(transport, times):
    print(f"\n{transport}: us for each copy\n")
    names = PATHS[transport]
    head = ("copies", "pattern", "bytes") + names + ("chosen", "ratio", "noise")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    shown = []
    for kind, row in sorted(times.items()):
        ratio, noise = compared(row, names)
        shown.append((ratio, noise))
        cells = [str(part) for part in kind] + ["%.1f" % statistics.median(row[way]) for way in names + ("auto",)]
        print("| " + " | ".join(cells + ["%.2f" % value for value in shown[-1]]) + " |")
    for memory in ("page-locked", "ordinary"):
        values = [value for kind, value in zip(sorted(times), shown) if ("page-locked" in kind[0]) == (memory == "page-locked")]
        print(f"\n{memory} memory")
        for title, column, aim in zip(("chosen to best forced", "chosen to itself"), zip(*values), (1.1, 1.1)):
            print("%s: median %.2f, %d of %d at most %.1f, largest %.2f" %
                  (title, statistics.median(column), sum(value <= aim for value in column), len(column), aim, max(column)))


def own_devices():
    """All GPUs, as rgpud takes them unless told otherwise, or the software GPU."""
    return "" if glob.glob("/dev/nvidia[0-9]*") else "sim:1"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--transport", action="append")
    parser.add_argument("--devices", default=os.environ.get("RGPU_BENCH_DEVICES") or own_devices())
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--copies", type=int, default=100)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("at least two rounds are needed")
    results = {}
    for transport in options.transport or ("shm", "tcp"):
        times = measure(transport, options)
        table(transport, times)
        results[transport] = [dict(zip(("use", "pattern", "bytes"), kind), first=first[kind], **row)
                              for kind, row in times.items()]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()

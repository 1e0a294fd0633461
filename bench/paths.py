#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copies by each path that can be forced and by the one that is chosen, in turns: the table of what the choice costs.

    bench/paths.py [--transport NAME]... [--rounds N] [--copies N] [--json FILE]

It starts a box of its own on this machine, on the software GPU where there is no other. Times are medians over the rounds,
in microseconds for each copy. Ratio: the chosen path's time to the best forced one's, once it is chosen (all copies but
those of the first round), and for the first copies of a box that knows nothing.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
# What makes a difference over each transport; where a path cannot be had another one is taken.
PATHS = {"shm": ("inline", "staged", "mapped"), "vm": ("inline", "staged", "mapped"),
         "rdma": ("inline", "staged", "one-sided", "small-blocks", "large-blocks", "direct"), "tcp": ("inline", "staged")}


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
    output = subprocess.run([os.path.join(BUILD, "bench/path-times"), str(copies)],
                            env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {(row["use"], row["pattern"], row["bytes"]): row for row in rows}


def measure(box, transport, rounds, copies):
    """Times by path and kind; "first" are those of the box that knew nothing."""
    times = {}
    for kind, row in run(box, transport, "auto", copies).items():
        times.setdefault(kind, {})["first"] = [row["mean"]]
    for _ in range(rounds):
        for paths in PATHS[transport] + ("auto",):
            for kind, row in run(box, transport, paths, copies).items():
                times[kind].setdefault(paths, []).append(row["median"])
                times[kind].setdefault(paths + " mean", []).append(row["mean"])
    return {kind: {name: statistics.median(values) for name, values in row.items()}
            for kind, row in times.items()}


def table(transport, times):
    print(f"\n{transport}: us for each copy\n")
    names = PATHS[transport]
    head = ("copies", "pattern", "bytes") + names + ("chosen", "ratio", "first 100")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    worst, worst_first = 0.0, 0.0
    for (use, pattern, size), row in sorted(times.items()):
        best = min(row[path] for path in names)
        ratio = row["auto"] / best
        first = row["first"] / min(row[path + " mean"] for path in names)
        worst, worst_first = max(worst, ratio), max(worst_first, first)
        cells = [use, pattern, str(size)] + [f"{row[path]:.1f}" for path in names]
        print("| " + " | ".join(cells + [f"{row['auto']:.1f}", f"{ratio:.2f}", f"{first:.2f}"]) + " |")
    print(f"\nlargest ratio {worst:.2f}, of the first copies {worst_first:.2f}")


def own_devices():
    """All GPUs, as rgpud takes them unless told otherwise, or the software GPU."""
    return "" if glob.glob("/dev/nvidia[0-9]*") else "sim:1"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--transport", action="append")
    parser.add_argument("--devices", default=os.environ.get("RGPU_BENCH_DEVICES") or own_devices())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=100)
    parser.add_argument("--json")
    options = parser.parse_args()
    results = {}
    for transport in options.transport or ("shm", "tcp"):
        box = Box(options.devices)
        try:
            times = measure(box, transport, options.rounds, options.copies)
        finally:
            box.close()
        table(transport, times)
        results[transport] = [dict(zip(("use", "pattern", "bytes"), kind), **row)
                              for kind, row in times.items()]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()

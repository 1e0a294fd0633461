#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures copies and event waits between two GPUs: natively if there are two, as two GPUs of one box, and as one GPU of
each of two boxes, by each way that these have. Prints a table, with the ratio to the first column.

    bench/between_boxes.py [--build DIR] [--devices cuda|sim] [--max BYTES] [--memory plain|vmm|pool]
                           [--transport shm] [--rounds N] [--only COLUMNS] [--output FILE]"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Boxes:
    """One rgpud for each of the lists of devices, from when their addresses are asked for."""

    def __init__(self, build, devices, directory, names, *arguments):
        self.program = os.path.join(build, "bin", "rgpud")
        self.rows = list(zip(devices, names))
        self.directory, self.arguments, self.processes, self.known = directory, arguments, [], None

    def start(self, device, name):
        process = subprocess.Popen(
            [self.program, "--standalone", "--devices", device, "--name", name, "--listen", "127.0.0.1:0",
             "--admin-socket", "", *self.arguments],
            stdout=subprocess.PIPE, text=True, stderr=open(os.path.join(self.directory, name + ".log"), "w"),
            env=dict(os.environ, RGPU_SIM_STATE=os.path.join(self.directory, "gpus")))
        self.processes.append(process)
        for line in process.stdout:
            if "ready listen=" in line:
                return line.split("listen=")[1].split()[0]
        sys.exit("%s does not start: see its messages in %s" % (self.program, self.directory))

    @property
    def addresses(self):
        self.known = self.known or ",".join(self.start(*row) for row in self.rows)
        return self.known

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def measure(options, environment):
    arguments = [options.program, "--memory", options.memory, "--max", str(options.max)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=120)
    said = [line for line in done.stderr.splitlines() if "boxes" in line or "box of" in line or "reach" in line]
    if done.returncode:
        print("# %s" % (done.stdout + done.stderr)[-400:], file=sys.stderr)
        return {}, said
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(line["figure"], line["size"], line["unit"]): line["value"] for line in lines}, said


def through(options, boxes, way=None):
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(options.build, "lib") +
                       ":" + os.environ.get("LD_LIBRARY_PATH", ""), RGPU_BOXES=boxes.addresses,
                       RGPU_TRANSPORT=options.transport, RGPU_LOG="info")
    environment.pop("RGPU_TICKET", None)
    if way:
        environment["RGPU_PEER_LINK"] = way
    return measure(options, environment)


def natively(options):
    environment = dict(os.environ)
    environment.pop("LD_LIBRARY_PATH", None)
    return measure(options, environment)


def columns(options, directory):
    """The columns by name, each a function that measures once, and the boxes that are to be ended."""
    cuda = options.devices == "cuda"
    pair = ["cuda:0", "cuda:1"] if cuda else ["sim:1", "sim:1"]
    one = Boxes(options.build, ["cuda:0,1" if cuda else "sim:2"], directory, ["one"])
    near = Boxes(options.build, pair, directory, ["first", "second"], "--peer-gpus=yes")
    apart = Boxes(options.build, pair, directory, ["third", "fourth"])
    ways = {"native": lambda: natively(options)} if cuda else {}
    ways["one box"] = lambda: through(options, one)
    ways["two: gpus"] = lambda: through(options, near, "auto")
    for way in ("shm", "tcp", "client"):
        ways["two: " + way] = lambda way=way: through(options, apart, way)
    return {name: ways[name] for name in ways if not options.only or name in options.only.split(",")}, (one, near, apart)


# Keeps the best of several rounds.
def keep(known, figures):
    for key, value in figures.items():
        better = max if key[2] == "GB/s" else min
        known[key] = better(known.get(key, value), value)


def take_rounds(options, directory):
    ways, boxes = columns(options, directory)
    results = {name: {} for name in ways}
    try:
        for turn in range(options.rounds):
            for name, once in ways.items():
                figures, said = once()
                keep(results[name], figures)
                if not turn:
                    print("".join("# %s: %s\n" % (name, line) for line in said), end="")
    finally:
        for box in boxes:
            box.end()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--devices", choices=("cuda", "sim"), default="sim")
    parser.add_argument("--max", type=int, default=256 << 20)
    parser.add_argument("--memory", choices=("plain", "vmm", "pool"), default="plain")
    parser.add_argument("--transport", default="shm")
    parser.add_argument("--rounds", type=int, default=1, help="all columns in turns so often; the best counts")
    parser.add_argument("--only", default="", help="these columns, with commas")
    parser.add_argument("--output")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.program = os.path.join(options.build, "bench", "between")
    directory = tempfile.mkdtemp(prefix="rgpu-between.")
    try:
        results = take_rounds(options, directory)
    finally:
        shutil.rmtree(directory)
    base = next((name for name in results if results[name]), None)
    print("%-12s %10s" % ("figure", "size") + "".join("%22s" % name for name in results))
    for key in results.get(base, {}):
        row = "%-12s %10d" % key[:2]
        for name in results:
            value = results[name].get(key)
            row += "%22s" % ("-" if value is None else "%.4g %s (%.2f)" % (value, key[2], value / results[base][key]))
        print(row)
    if options.output:
        with open(options.output, "w") as file:
            for name in results:
                for key, value in results[name].items():
                    file.write(json.dumps({"way": name, "figure": key[0], "size": key[1], "value": value,
                                           "unit": key[2]}) + "\n")


main()

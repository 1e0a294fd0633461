#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copies and event waits between two GPUs: natively where there are two, as two GPUs of one box, and as one GPU of
each of two boxes, by each way that these have. Prints a table, with the ratio to the first column.

    bench/between_boxes.py [--build DIR] [--devices cuda|sim] [--max BYTES] [--transport shm] [--output FILE]"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Boxes:
    """One rgpud for each of the lists of devices."""

    def __init__(self, build, devices, directory, names):
        self.processes, addresses = [], []
        environment = dict(os.environ, RGPU_SIM_STATE=os.path.join(directory, "gpus"))
        for device, name in zip(devices, names):
            process = subprocess.Popen(
                [os.path.join(build, "bin", "rgpud"), "--standalone", "--devices", device, "--name", name,
                 "--listen", "127.0.0.1:0", "--admin-socket", ""],
                stdout=subprocess.PIPE, text=True, env=environment,
                stderr=open(os.path.join(directory, name + ".log"), "w"))
            self.processes.append(process)
            for line in process.stdout:
                if "ready listen=" in line:
                    addresses.append(line.split("listen=")[1].split()[0])
                    break
        self.addresses = ",".join(addresses)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def measure(program, environment, largest):
    done = subprocess.run([program, "--max", str(largest)], env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode:
        print("# %s" % (done.stdout + done.stderr)[-400:], file=sys.stderr)
        return {}
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(line["figure"], line["size"], line["unit"]): line["value"] for line in lines}


def through(options, boxes, way=None):
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(options.build, "lib"), RGPU_BOXES=boxes.addresses,
                       RGPU_TRANSPORT=options.transport)
    environment.pop("RGPU_TICKET", None)
    if way:
        environment["RGPU_PEER_LINK"] = way
    return measure(options.program, environment, options.max)


def columns(options, directory):
    if options.devices == "cuda":
        environment = dict(os.environ)
        environment.pop("LD_LIBRARY_PATH", None)
        yield "native", measure(options.program, environment, options.max)
    pair = ["cuda:0", "cuda:1"] if options.devices == "cuda" else ["sim:1", "sim:1"]
    both = "cuda:0,1" if options.devices == "cuda" else "sim:2"
    boxes = Boxes(options.build, [both], directory, ["one"])
    yield "one box", through(options, boxes)
    boxes.end()
    boxes = Boxes(options.build, pair, directory, ["first", "second"])
    for way in ("auto", "tcp", "client"):
        yield "two: " + way, through(options, boxes, way)
    boxes.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--devices", choices=("cuda", "sim"), default="sim")
    parser.add_argument("--max", type=int, default=256 << 20)
    parser.add_argument("--transport", default="shm")
    parser.add_argument("--output")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.program = os.path.join(options.build, "bench", "between")
    directory = tempfile.mkdtemp(prefix="rgpu-between.")
    results = {}
    try:
        for name, figures in columns(options, directory):
            results[name] = figures
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

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs many clients at once, natively and through a box by turns, and times the end of the last one. Prints a table
with the ratio to native, where the time goes (when the middle and the last client had come to each step), and every figure
as a JSON line.

    bench/burst_clients.py [--build DIR] [--devices auto|sim:N|cuda:all] [--counts 1,2,4,8,16,32,64] [--rounds 3]
                           [--transport shm] [--launch-us US] [--launches N]
                           [--column NAME='ARGUMENTS OF RGPUD'] [--output FILE] [--limit SECONDS]

Each --column is a box of its own, asked in its turn; without one there is a box with the usual settings."""
import argparse
import json
import os
import re
import select
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

STEPS = ("begun", "init", "context", "loaded", "worked", "ended")


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default=os.path.join(here, "..", "build"))
    p.add_argument("--devices", default="auto")
    p.add_argument("--counts", default="1,2,4,8,16,32,64")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--transport", default="shm")
    p.add_argument("--launch-us", type=float, default=1000, help="what a launch takes on the GPU")
    p.add_argument("--launches", type=int, default=100, help="of each client")
    p.add_argument("--column", action="append", default=[], metavar="NAME=ARGUMENTS")
    p.add_argument("--output")
    p.add_argument("--logs", help="directory to leave the boxes' logs in")
    p.add_argument("--limit", type=float, default=1e9, help="seconds after which no further count begins")
    a = p.parse_args()
    a.build = os.path.abspath(a.build)
    a.output = a.output or os.path.join(a.build, "bench", "burst.jsonl")
    a.column = [c.partition("=")[::2] for c in a.column or ["box="]]
    return a


class Burst:
    def __init__(self, options):
        self.options = options
        self.directory = tempfile.mkdtemp(prefix="rgpu-burst.")
        self.boxes, self.addresses = {}, {}
        self.plain = {k: v for k, v in os.environ.items() if not k.startswith("RGPU_")}
        ours = os.path.join(options.build, "lib")
        kept = [x for x in self.plain.get("LD_LIBRARY_PATH", "").split(":") if x and os.path.abspath(x) != ours]
        self.plain["LD_LIBRARY_PATH"] = ":".join(kept)
        self.plain.update({k: v for k, v in os.environ.items() if k.startswith("RGPU_SIM_")})
        self.plain.setdefault("RGPU_SIM_MEMORY", str(64 << 30))
        self.native = self.choose_devices()

    def program(self, *parts):
        return os.path.join(self.options.build, *parts)

    def with_library(self, directory):
        return dict(self.plain, LD_LIBRARY_PATH=directory + ":" + self.plain["LD_LIBRARY_PATH"])

    def choose_devices(self):
        """The environment of native programs; the software GPU's library stands in where there is no other."""
        if not self.options.devices.startswith("sim"):
            asked = subprocess.run([self.program("bench", "burst"), "--probe"], env=self.plain, capture_output=True)
            if asked.returncode == 0:
                if self.options.devices == "auto":
                    self.options.devices = "cuda:all"
                return self.plain
            if self.options.devices.startswith("cuda"):
                sys.exit("burst: no NVIDIA GPU answers on this machine")
        if self.options.devices == "auto":
            self.options.devices = "sim:1"
        self.plain["RGPU_SIM_STATE"] = os.path.join(self.directory, "gpus")
        link = os.path.join(self.directory, "native")
        os.mkdir(link)
        os.symlink(self.program("lib", "libcuda-sim.so"), os.path.join(link, "libcuda.so.1"))
        return self.with_library(link)

    def start_box(self, name, more):
        log = open(os.path.join(self.options.logs or self.directory, name + ".log"), "w")
        socket = os.path.join(self.directory, name + ".sock")
        command = [self.program("bin", "rgpud"), "--standalone", "--devices", self.options.devices, "--listen",
                   "127.0.0.1:0", "--name", name, "--admin-socket", socket, *shlex.split(more)]
        rgpud = subprocess.Popen(command, env=self.plain, stdout=subprocess.PIPE, stderr=log, text=True,
                                 start_new_session=True)
        self.boxes[name] = rgpud
        ready, _, _ = select.select([rgpud.stdout], [], [], 120)
        found = re.search(r"(\d+\.\d+\.\d+\.\d+:\d+)", rgpud.stdout.readline() if ready else "")
        if not found:
            sys.exit("burst: the box did not start:\n" + open(log.name).read()[-2000:])
        self.addresses[name] = found.group(1)

    def children(self, pid):
        return subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True).stdout.split()

    def settle(self, name, seconds=60):
        """Until the box has as many workers as it keeps, and no other process."""
        deadline, last, since = time.time() + seconds, None, 0
        while time.time() < deadline:
            asked = subprocess.run([self.program("bin", "rgpuctl"), "devices", "--socket",
                                    os.path.join(self.directory, name + ".sock"), "--json"],
                                   capture_output=True, text=True)
            devices = [json.loads(line) for line in asked.stdout.splitlines() if line]
            children = [pid for parent in self.children(self.boxes[name].pid) for pid in [parent] + self.children(parent)]
            state = (len(children), [d["warm"] for d in devices])
            since = since if state == last else time.time()
            last = state
            idle = devices and not any(d["sessions"] or d["starting"] for d in devices)
            if idle and time.time() > since + 1:
                return
            time.sleep(0.1)
        print("burst: %s does not settle: %s" % (name, last), file=sys.stderr)

    def environment(self, column):
        if column == "native":
            return self.native
        return dict(self.with_library(self.program("lib")), RGPU_BOXES=self.addresses[column],
                    RGPU_TRANSPORT=self.options.transport)

    def once(self, column, count, rounds):
        if column != "native":
            self.settle(column)
        done = subprocess.run([self.program("bench", "burst"), str(count), str(self.options.launches), rounds],
                              env=self.environment(column), capture_output=True, text=True,
                              timeout=600)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines or lines[0]["failed"]:
            print("burst: %d clients, %s: %s" % (count, column, (done.stdout + done.stderr)[-1000:]), file=sys.stderr)
        return dict(lines[0], column=column) if lines else None

    def stop(self):
        for box in self.boxes.values():
            try:
                os.killpg(box.pid, signal.SIGTERM)
                box.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(box.pid, signal.SIGKILL)
                box.wait()
            except ProcessLookupError:
                pass
        shutil.rmtree(self.directory, ignore_errors=True)


def middle(runs, of):
    return statistics.median(of(run) for run in runs)


def show(count, column, runs, native):
    wall, ratios = middle(runs, lambda r: r["wall"]), ""
    if native:
        pairs = [r["wall"] / n["wall"] for r, n in zip(runs, native)]
        ratios = "%.2f (%.2f-%.2f)" % (statistics.median(pairs), min(pairs), max(pairs))
    steps = " ".join("%6.0f/%-6.0f" % (middle(runs, lambda r: r[s][0]), middle(runs, lambda r: r[s][1]))
                     for s in STEPS if s in runs[0])
    print("%7d  %-12s %9.0f  %-18s %s" % (count, column, wall, ratios, steps), flush=True)


def compare(burst, options, output):
    began = time.time()
    rounds = subprocess.run([burst.program("bench", "burst"), "--calibrate", str(options.launch_us)], env=burst.native,
                            capture_output=True, text=True, check=True).stdout.strip()
    for name, more in options.column:
        burst.start_box(name, more)
    columns = ["native"] + [name for name, _ in options.column]
    print("Milliseconds; each client: %d launches of %d us. Steps: middle/last client."
          % (options.launches, options.launch_us))
    print("%7s  %-12s %9s  %-18s %s" % ("clients", "", "wall", "to native", " ".join("%-13s" % s for s in STEPS)))
    for count in map(int, options.counts.split(",")):
        if time.time() - began > options.limit:
            print("burst: no time left for %d clients" % count)
            break
        runs = {column: [] for column in columns}
        for turn in range(options.rounds):
            for column in columns if turn % 2 == 0 else columns[::-1]:
                run = burst.once(column, count, rounds)
                if run:
                    runs[column].append(run)
                    output.write(json.dumps(run) + "\n")
                    output.flush()
        for column in columns:
            if runs[column]:
                show(count, column, runs[column], runs["native"] if column != "native" else None)


def main():
    options = arguments()
    os.makedirs(os.path.dirname(options.output), exist_ok=True)
    burst = Burst(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with open(options.output, "w") as output:
            compare(burst, options, output)
    finally:
        burst.stop()


main()

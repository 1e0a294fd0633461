# SPDX-License-Identifier: BSD-3-Clause
"""Runs ordinary CUDA programs one after the other and says how many end well and how long all take:

    samples.py DIRECTORY [PROGRAM...]

A program that says that it has nothing to do here is no runnable one. Those that fail are named on standard error."""
import json
import os
import subprocess
import sys
import time

EACH = 40  # seconds
PROGRAMS = ("allocations", "asserts", "batches", "callbacks", "contexts", "cooperative", "copies", "crossing", "devices", "draining",
            "handles", "large", "linking", "managed", "mapped-host", "mapped-on-demand", "matmul", "modules", "overlap", "peers", "pinned",
            "pools", "print", "queries", "rectangles", "refusals", "registered", "saxpy", "sharing", "small-copies", "tables", "textures",
            "threads", "virtual")


def run(path):
    """(whether it passed, whether it had something to do, its last words)"""
    try:
        done = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=EACH)
    except subprocess.TimeoutExpired:
        return False, True, "took more than %d s" % EACH
    wrong = [line for line in done.stdout.splitlines() if line.startswith("not ok")]
    return done.returncode == 0, "1..0 # SKIP" not in done.stdout, "; ".join(wrong[:3]) or done.stderr[-200:]


def main():
    directory, names = sys.argv[1], sys.argv[2:] or PROGRAMS
    missing = [name for name in names if not os.path.isfile(os.path.join(directory, name))]
    if missing:
        sys.exit("samples: not in %s: %s" % (directory, " ".join(missing)))
    start, passed, runnable = time.perf_counter(), 0, 0
    for name in names:
        well, has_work, words = run(os.path.join(directory, name))
        runnable += has_work
        passed += well and has_work
        if not well:
            print("%s: %s" % (name, words), file=sys.stderr)
    for figure, value, unit in (("programs that end well", passed, "programs"), ("of", runnable, "programs"),
                                ("all of them", time.perf_counter() - start, "s")):
        print(json.dumps({"figure": figure, "x": None, "value": value, "unit": unit}))


main()

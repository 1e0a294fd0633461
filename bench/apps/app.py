# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of the applications of this folder: checked results and timed work.

A program prints a line `ok: …` or `WRONG: …` for each result and `time: NAME: MILLISECONDS` for each figure,
which bench/apps/run reads. It ends with status 1 when a result is wrong, and with 77 when what it needs is
not installed."""
import atexit
import os
import sys
import time

_failures = 0


def check(what, good):
    global _failures
    _failures += not good
    print(f"{'ok' if good else 'WRONG'}: {what}", flush=True)


def figure(name, seconds):
    print(f"time: {name}: {seconds * 1e3:.4f}", flush=True)


def median_time(name, work, wait, rounds=50, warm=10):
    """Prints the median time of WORK, which WAIT completes."""
    for _ in range(warm):
        work()
    wait()
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        wait()
        samples.append(time.perf_counter() - start)
    figure(name, sorted(samples)[rounds // 2])


def batch_time(name, work, wait, rounds=100, warm=10):
    """Prints what one of ROUNDS costs that are waited for together."""
    for _ in range(warm):
        work()
    wait()
    start = time.perf_counter()
    for _ in range(rounds):
        work()
    wait()
    figure(name, (time.perf_counter() - start) / rounds)


def needs(*names):
    """The modules of these names; ends the program with status 77 where one is not installed."""
    import importlib
    modules = []
    for name in names:
        try:
            modules.append(importlib.import_module(name))
        except ModuleNotFoundError as error:
            print(f"not installed: {error.name}")
            sys.exit(77)
    return modules[0] if len(modules) == 1 else modules


@atexit.register
def _end():
    if _failures:
        sys.stdout.flush()
        os._exit(1)

# SPDX-License-Identifier: BSD-3-Clause
"""Checks and times reductions over several GPUs, for any launcher."""
import os
import time

SIZES = [8, 4 << 10, 256 << 10, 4 << 20, 32 << 20, 256 << 20]  # bytes


def size_name(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"


def time_of(work, wait, size):
    """Seconds that one of several takes that are waited for together; the least of three tries."""
    rounds = 200 if size <= 1 << 20 else 20
    rounds = int(os.environ.get("APP_ROUNDS", rounds))
    for _ in range(5):
        work()
    wait()
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(rounds):
            work()
        wait()
        best = min(best, (time.perf_counter() - start) / rounds)
    return best

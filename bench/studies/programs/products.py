# SPDX-License-Identifier: BSD-3-Clause
"""A product of matrices by what the column has: PROGRAM on the GPU, or with STUDY_BLAS=processors the BLAS of NumPy on all
processors that it may use (OpenBLAS, with Debian's packages and with NumPy's own): products.py PROGRAM whole s|d N"""
import json
import os
import sys
import time


def median_time(once, seconds):
    times, begin = [], time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        result = once()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2], result


def by_processors(kind, n):
    import numpy as np
    a = np.resize(np.arange(7, dtype=np.float32 if kind == "s" else np.float64), (n, n))
    b = np.resize(np.arange(1, 6, dtype=a.dtype), (n, n))
    np.matmul(a[:64, :64], b[:64, :64])
    seconds, c = median_time(lambda: np.matmul(a, b), 0.3)
    row, column = n // 2, n // 3
    want = float(np.dot(a[row].astype(np.float64), b[:, column].astype(np.float64)))
    if abs(float(c[row, column]) - want) > 1e-3 * abs(want):
        sys.exit("products: %g instead of %g" % (c[row, column], want))
    print(json.dumps({"figure": kind.upper() + "GEMM", "value": seconds * 1e3, "unit": "ms"}))


def main():
    if len(sys.argv) != 5 or sys.argv[3] not in ("s", "d"):
        sys.exit("usage: products.py PROGRAM whole s|d N")
    if os.environ.get("STUDY_BLAS") == "processors":
        by_processors(sys.argv[3], int(sys.argv[4]))
    else:
        os.execv(sys.argv[1], sys.argv[1:])


main()

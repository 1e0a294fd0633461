# SPDX-License-Identifier: BSD-3-Clause
"""Numba: kernels compiled from Python, shared memory, atomics, streams, pinned arrays."""
from app import check, median_time, needs

np = needs("numpy")
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # a Numba older than its NumPy imports it
needs("numba")
from numba import cuda, float32  # noqa: E402


@cuda.jit
def twice(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


@cuda.jit
def block_sums(x, out):
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


x = np.arange(65536, dtype=np.float32)
y = np.zeros_like(x)
twice[256, 256](x, y)
check("arrays of the host are copied for a kernel", np.array_equal(y, 2 * x))
there, out = cuda.to_device(np.ones(65536, np.float32)), cuda.to_device(np.zeros(1, np.float32))
block_sums[256, 256](there, out)
check("shared memory and atomics", out.copy_to_host()[0] == 65536)
stream = cuda.stream()
with cuda.pinned(x):
    a = cuda.to_device(x, stream=stream)
    b = cuda.device_array_like(a, stream=stream)
    twice[256, 256, stream](a, b)
    got = b.copy_to_host(stream=stream)
stream.synchronize()
check("a stream with pinned arrays", np.array_equal(got, 2 * x))
median_time("a kernel", lambda: twice[256, 256](a, b), cuda.synchronize)

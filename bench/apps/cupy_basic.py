# SPDX-License-Identifier: BSD-3-Clause
"""CuPy: arrays, streams, events, graphs, memory pools, raw kernels and modules, pinned memory, libraries."""
from app import check, median_time, needs

cp, np = needs("cupy", "numpy")
wait = cp.cuda.Device().synchronize

a = cp.arange(100000, dtype=cp.float32)
check("sum", float(a.sum()) == float(np.arange(100000, dtype=np.float64).sum()) or abs(float(a.sum()) - 4999950000) < 1e4)
check("sort", bool((cp.sort(a[::-1]) == a).all()))
m = cp.random.rand(200, 200)
check("product", np.allclose(cp.asnumpy(m @ m), cp.asnumpy(m) @ cp.asnumpy(m)))
check("solve", np.allclose(cp.asnumpy(cp.linalg.solve(m + 200 * cp.eye(200), m)),
                           np.linalg.solve(cp.asnumpy(m) + 200 * np.eye(200), cp.asnumpy(m))))
check("FFT", np.allclose(cp.asnumpy(cp.fft.fft(a[:1024])), np.fft.fft(np.arange(1024)), rtol=1e-3, atol=1e-1))

kernel = cp.RawKernel(r'''extern "C" __global__ void twice(const float *x, float *y, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }''', "twice")
y = cp.empty_like(a)
kernel((391,), (256,), (a, y, np.int32(100000)))
check("RawKernel", bool((y == 2 * a).all()))
module = cp.RawModule(code=r'''__constant__ float factor; __device__ int count;
extern "C" __global__ void scaled(float *x, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { x[i] *= factor; atomicAdd(&count, 1); } }''')
factor = cp.ndarray((1,), cp.float32, module.get_global("factor"))
factor[0] = 3
b = a.copy()
module.get_function("scaled")((391,), (256,), (b, np.int32(100000)))
check("RawModule with constants", bool((b == 3 * a).all()))
check("and variables", int(cp.ndarray((1,), cp.int32, module.get_global("count"))[0]) == 100000)

streams = [cp.cuda.Stream(non_blocking=True) for _ in range(4)]
event = cp.cuda.Event()
parts = []
for s in streams:
    with s:
        parts.append(cp.ones(1000) * 2)
        event.record()
    s.wait_event(event)
for s in streams:
    s.synchronize()
check("streams and events", all(float(p.sum()) == 2000 for p in parts))

stream = cp.cuda.Stream(non_blocking=True)
z = cp.zeros(1000)
with stream:
    z += 1
    stream.synchronize()
    stream.begin_capture()
    z += 1
    z *= 2
    graph = stream.end_capture()
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
check("graphs", float(z[0]) == 22)

pool = cp.cuda.MemoryPool()
with cp.cuda.using_allocator(pool.malloc):
    big = cp.ones(1 << 22)
    check("memory pool", pool.used_bytes() >= (1 << 25) and float(big.sum()) == 1 << 22)
    del big
if hasattr(cp.cuda, "MemoryAsyncPool"):
    with cp.cuda.using_allocator(cp.cuda.MemoryAsyncPool().malloc):
        check("stream-ordered pool", float(cp.ones(1 << 20).sum()) == 1 << 20)
memory = cp.cuda.alloc_pinned_memory(8 * 1000)
host = np.frombuffer(memory, np.float64, 1000)
host[:] = 5
check("pinned memory", float(cp.asarray(host).sum()) == 5000)
median_time("an element-wise kernel", lambda: kernel((391,), (256,), (a, y, np.int32(100000))), wait)

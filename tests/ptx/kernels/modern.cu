// SPDX-License-Identifier: BSD-3-Clause
// Features of newer CUDA C++: cooperative groups, barriers in shared memory, pipelines, atomics
// with scopes, virtual functions, device memory allocation, 16-bit floats.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

extern "C" __global__ void groups(int *out)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = threadIdx.x, r;

    r = cg::reduce(tile, v, cg::plus<int>()) + 1000 * cg::inclusive_scan(tile, 1);
    if (threadIdx.x % 3 == 0) {
        auto some = cg::coalesced_threads();
        r += 100000 * some.size() + 10000000 * cg::reduce(some, 1, cg::plus<int>());
    }
    block.sync();
    out[threadIdx.x] = r;
}

extern "C" __global__ void shared_barrier(int *out, const int *in)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int cells[128];

    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    for (int round = 0; round < 5; round++) {
        cuda::memcpy_async(&cells[threadIdx.x], &in[threadIdx.x], 4, barrier);
        barrier.arrive_and_wait();
        out[threadIdx.x] += cells[blockDim.x - 1 - threadIdx.x];
        barrier.wait(barrier.arrive());
    }
}

extern "C" __global__ void pipeline(int *out, const int *in)
{
    __shared__ int cells[2][128];
    auto pipe = cuda::make_pipeline();

    for (int round = 0; round < 4; round++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&cells[round % 2][threadIdx.x], &in[threadIdx.x], 4, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        __syncthreads();
        out[threadIdx.x] += cells[round % 2][(threadIdx.x + round) % blockDim.x];
        __syncthreads();
        pipe.consumer_release();
    }
}

extern "C" __global__ void scoped_atomics(int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> count(out[0]);
    cuda::atomic_ref<int, cuda::thread_scope_system> most(out[1]);

    count.fetch_add(2, cuda::memory_order_relaxed);
    most.fetch_max(threadIdx.x, cuda::memory_order_acq_rel);
    int seen = count.load(cuda::memory_order_acquire);
    while (!count.compare_exchange_weak(seen, seen + 1))
        ;
}

struct shape {
    virtual __device__ int area(int) = 0;
    virtual __device__ ~shape() {}
};
struct square : shape {
    __device__ int area(int x) override { return x * x; }
};
struct strip : shape {
    int width;
    __device__ strip(int w) : width(w) {}
    __device__ int area(int x) override { return x * width; }
};

extern "C" __global__ void virtual_functions(int *out)
{
    shape *s = threadIdx.x % 2 ? (shape *)new square : (shape *)new strip(3);

    out[threadIdx.x] = s->area(threadIdx.x);
    delete s;
}

extern "C" __global__ void halves(float *out)
{
    __half x = __float2half(threadIdx.x * 0.25f);
    __half2 y = __halves2half2(x, __hneg(x));

    y = __hfma2(y, y, __float2half2_rn(1.0f));
    out[threadIdx.x] = __low2float(y) + __half2float(hsqrt(x)) + (__hgt(x, __float2half(2.0f)) ? 100 : 0);
}

extern "C" __global__ void wide(long long *out, const long long *in)
{
    long long a = in[threadIdx.x], b = in[threadIdx.x + 1];

    out[threadIdx.x] = (long long)(((__int128)a * b) >> 40) +
                       (long long)((__int128)a * 1000 / (b | 1)) + __mul64hi(a, b) +
                       (long long)__umul64hi(a, b);
}

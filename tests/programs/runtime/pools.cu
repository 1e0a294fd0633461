// SPDX-License-Identifier: BSD-3-Clause
// cudaMallocAsync and cudaFreeAsync with the default pool.
#include "runtime.h"

__global__ void fill(unsigned *data, unsigned value, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = value + i;
}

int main()
{
    int pools = 0;
    CHECK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    if (!pools)
        skip_all("the device says that it has no memory pools");
    const unsigned n = 10000;
    cudaStream_t stream;
    unsigned wrong = 0, *data;
    std::vector<unsigned> out(n);
    CHECK(cudaStreamCreate(&stream));
    for (unsigned round = 0; round < 10; round++) {
        CHECK(cudaMallocAsync(&data, n * 4, stream));
        fill<<<4, 128, 0, stream>>>(data, round, n);
        CHECK(cudaMemcpyAsync(out.data(), data, n * 4, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(data, stream));
        CHECK(cudaStreamSynchronize(stream));
        wrong += out[0] != round || out[n - 1] != round + n - 1;
    }
    is_int(wrong, 0, "allocations in stream order");
    cudaMemPool_t pool;
    uint64_t threshold = 1 << 20, got = 0;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    ok(got == threshold, "the pool keeps its attribute");
    CHECK(cudaStreamDestroy(stream));
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Reductions, votes and scans with warp shuffles, block and grid atomics of several kinds.
#include "runtime.h"

__device__ unsigned long long warp_sum(unsigned long long value)
{
    for (int d = 16; d; d >>= 1)
        value += __shfl_xor_sync(~0u, value, d);
    return value;
}

__global__ void reduce(unsigned long long *sum, unsigned *largest, unsigned *odd,
                       const unsigned *in, unsigned n)
{
    __shared__ unsigned long long block_sum;
    if (threadIdx.x == 0)
        block_sum = 0;
    __syncthreads();
    unsigned long long mine = 0;
    unsigned top = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        mine += in[i];
        top = max(top, in[i]);
        unsigned votes = __ballot_sync(__activemask(), in[i] & 1);
        if (in[i] & 1 && __ffs(votes) - 1 == (threadIdx.x & 31))
            atomicAdd(odd, __popc(votes));
    }
    mine = warp_sum(mine);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(&block_sum, mine);
    atomicMax(largest, top);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(sum, block_sum);
}

__global__ void histogram(unsigned *bins, const unsigned *in, unsigned n)
{
    __shared__ unsigned local[64];
    if (threadIdx.x < 64)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i] >> 26], 1u);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void scan_warps(int *out, const int *in)
{
    int lane = threadIdx.x & 31, value = in[threadIdx.x];
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(~0u, value, d);
        if (lane >= d)
            value += other;
    }
    out[threadIdx.x] = value;
    if (__any_sync(~0u, value < 0) != 0)
        out[threadIdx.x] = -1;
}

__global__ void swap_in(unsigned *slots, unsigned *lost)
{
    unsigned mine = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (atomicCAS(&slots[mine % 10], 0u, mine) != 0)
        atomicSub(lost, 1u);
    atomicExch(&slots[10], mine);
    atomicMin(&slots[11], mine);
    atomicOr(&slots[12], 1u << (mine & 31));
    atomicAnd(&slots[13], ~(1u << (mine & 31)));
}

int main()
{
    const unsigned n = 40009;
    random_numbers random(3);
    std::vector<unsigned> in(n);
    unsigned long long want = 0, sum = 0;
    unsigned want_largest = 0, want_odd = 0, bins[64], want_bins[64] = {0};
    for (auto &v : in) {
        v = random.u32();
        want += v;
        want_largest = v > want_largest ? v : want_largest;
        want_odd += v & 1;
        want_bins[v >> 26]++;
    }
    unsigned *data;
    unsigned char *out;
    CHECK(cudaMalloc(&data, n * 4));
    CHECK(cudaMalloc(&out, 1024));
    CHECK(cudaMemset(out, 0, 1024));
    CHECK(cudaMemcpy(data, in.data(), n * 4, cudaMemcpyHostToDevice));
    auto *dsum = reinterpret_cast<unsigned long long *>(out);
    auto *dwords = reinterpret_cast<unsigned *>(out + 8);
    reduce<<<6, 256>>>(dsum, dwords, dwords + 1, data, n);
    histogram<<<5, 128>>>(dwords + 2, data, n);
    unsigned largest = 0, odd = 0;
    CHECK(cudaMemcpy(&sum, dsum, 8, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&largest, dwords, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&odd, dwords + 1, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(bins, dwords + 2, sizeof bins, cudaMemcpyDeviceToHost));
    ok(sum == want, "the sum by shuffles and atomics");
    is_int(largest, want_largest, "the largest number");
    is_int(odd, want_odd, "the odd ones by votes of warps");
    is_mem(bins, want_bins, sizeof bins, "a histogram in shared memory");

    int scan_in[64], scan_out[64], wrong = 0, running = 0;
    for (int i = 0; i < 64; i++)
        scan_in[i] = i * 7 % 11;
    int *dscan = reinterpret_cast<int *>(out);
    CHECK(cudaMemcpy(dscan, scan_in, sizeof scan_in, cudaMemcpyHostToDevice));
    scan_warps<<<1, 64>>>(dscan + 64, dscan);
    CHECK(cudaMemcpy(scan_out, dscan + 64, sizeof scan_out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        running = i == 32 ? scan_in[i] : running + scan_in[i];
        wrong += scan_out[i] != running;
    }
    is_int(wrong, 0, "a scan of each warp");

    unsigned slots[16] = {0};
    slots[11] = 0xFFFFFFFF, slots[13] = 0xFFFFFFFF, slots[15] = 1000;
    CHECK(cudaMemcpy(out, slots, sizeof slots, cudaMemcpyHostToDevice));
    auto *dslots = reinterpret_cast<unsigned *>(out);
    swap_in<<<4, 32>>>(dslots, dslots + 15);
    CHECK(cudaMemcpy(slots, out, sizeof slots, cudaMemcpyDeviceToHost));
    wrong = 0;
    for (unsigned i = 0; i < 10; i++)
        wrong += slots[i] == 0 || slots[i] > 128 || slots[i] % 10 != i;
    is_int(wrong, 0, "one thread took each place by compare-and-swap");
    is_int(slots[15], 1000 - 118, "all others were counted");
    ok(slots[10] >= 1 && slots[10] <= 128, "exchange left one of the values");
    ok(slots[11] == 1 && slots[12] == 0xFFFFFFFF && slots[13] == 0,
       "minimum, or and and of all of them");
    CHECK(cudaFree(data));
    CHECK(cudaFree(out));
    return done();
}

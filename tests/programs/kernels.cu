// SPDX-License-Identifier: BSD-3-Clause
// The CUDA C++ source of kernels.ptx.
#include <cstdint>
#define TILE 16
extern "C" {
__device__ float table[256];
__constant__ float factors[16];
__device__ unsigned counter = 7;

__global__ void empty(void) {}
__global__ void saxpy(float *y, const float *x, float a, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void matmul(float *c, const float *a, const float *b, int n)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        ta[threadIdx.y][threadIdx.x] = row < n && t + threadIdx.x < n ? a[row * n + t + threadIdx.x]
                                                                      : 0;
        tb[threadIdx.y][threadIdx.x] =
            col < n && t + threadIdx.y < n ? b[(t + threadIdx.y) * n + col] : 0;
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; k++) sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}
__global__ void reduce(unsigned long long *out, const unsigned *in, unsigned n)
{
    __shared__ unsigned long long warps[32];
    unsigned long long sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < (blockDim.x + 31) / 32 ? warps[threadIdx.x] : 0;
        for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}
__global__ void add(unsigned *data, unsigned value, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] += value;
}
__global__ void scramble(unsigned *data, unsigned rounds, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned x = data[i];
        for (unsigned r = 0; r < rounds; r++) x = x * 1664525u + 1013904223u;
        data[i] = x;
    }
}
__global__ void delay(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - start < nanoseconds);
}
__global__ void wait_flag(volatile unsigned *flag) { while (*flag == 0) ; }
__global__ void poke(unsigned *address, unsigned value) { *address = value; }
__global__ void scale_by_constant(float *data, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * factors[i & 15] + table[i & 255];
}
__global__ void count(unsigned *out) { out[0] = atomicAdd(&counter, 1); }
struct mixed { char c; double d; short s; int v[3]; };
__global__ void mixed_parameters(double *out, char c, double d, struct mixed m, short s,
                                 const float *f)
{
    out[0] = c; out[1] = d; out[2] = m.c; out[3] = m.d; out[4] = m.s; out[5] = m.v[0] + m.v[1] + m.v[2]; out[6] = s; out[7] = f[0];
}
__global__ void dynamic_shared(unsigned *out, unsigned n)
{
    extern __shared__ unsigned s[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) s[i] = i * 3;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[i] = s[n - 1 - i];
}
__global__ void grid_barrier(unsigned *arrived, unsigned *out)
{
    __shared__ unsigned seen;
    if (threadIdx.x == 0) {
        out[blockIdx.x] = blockIdx.x + 1;
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < gridDim.x) ;
        __threadfence();
        unsigned sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++) sum += ((volatile unsigned *)out)[i];
        seen = sum;
        arrived[1 + blockIdx.x] = seen;
    }
}
__global__ void trap_now(void) { __trap(); }
}

// SPDX-License-Identifier: BSD-3-Clause
// Ordinary kernels as nvcc compiles them: parameters by value, shared tiles, reductions, atomics.
#include <cstdio>
#include <cassert>

struct scale {
    int a;
    double b;
    char c[7];
};

__device__ int g[4] = { 1, 2, 3, 4 };
__device__ int *gp = &g[1];
__constant__ float cf[3] = { 1.f, 2.f };
extern __shared__ float dyn[];

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = a * x[i] + y[i];
}

#define TILE 16
extern "C" __global__ void matmul(int n, const float *a, const float *b, float *c)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;

    for (int t = 0; t < n; t += TILE) {
        ta[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

extern "C" __global__ void reduce(int n, const int *x, int *sum, unsigned long long *wide)
{
    __shared__ int partial[32];
    int v = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    for (int d = 16; d; d /= 2)
        v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int d = 16; d; d /= 2)
            v += __shfl_xor_sync(0xffffffffu, v, d);
        if (threadIdx.x == 0) {
            atomicAdd(sum, v);
            atomicAdd(wide, (unsigned long long)(long long)v);
        }
    }
}

extern "C" __global__ void struct_param(scale s, double *out)
{
    out[threadIdx.x] = s.a * s.b + s.c[threadIdx.x % 7] + cf[threadIdx.x % 3] + g[threadIdx.x % 4];
    if (threadIdx.x == 0)
        *gp = 77;
}

extern "C" __global__ void dynamic_shared(int n, const float *in, float *out)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        dyn[i] = in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = dyn[n - 1 - i];
}

__device__ __noinline__ int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

extern "C" __global__ void recursion(int *out)
{
    out[threadIdx.x] = fib(threadIdx.x % 12);
}

typedef float (*unary)(float);
__device__ float add_one(float x) { return x + 1; }
__device__ float twice(float x) { return x * 2; }
__device__ float square(float x) { return x * x; }
__device__ unary table[3] = { add_one, twice, square };

extern "C" __global__ void indirect(float *out)
{
    out[threadIdx.x] = table[threadIdx.x % 3]((float)threadIdx.x);
}

extern "C" __global__ void switches(int *out)
{
    int i = threadIdx.x;

    switch (i % 8) {
    case 0: out[i] = 5; break;
    case 1: out[i] = i * i; break;
    case 2: out[i] = 7 - i; break;
    case 3: out[i] = i / 3; break;
    case 4: out[i] = i ^ 0x55; break;
    case 5: out[i] = i << 3; break;
    case 6: out[i] = ~i; break;
    default: out[i] = -1;
    }
}

extern "C" __global__ void print(int n)
{
    printf("thread %d of %u: %5.2f|%s|%c|%lld|%x|%%|%-6d|%06d|%e\n", threadIdx.x, blockDim.x,
           threadIdx.x * 1.5, "text", 'A' + threadIdx.x, (long long)n << 33, n, n, n, 1e100);
}

extern "C" __global__ void asserts(int n)
{
    assert(threadIdx.x != n);
}

extern "C" __global__ void histogram(int n, const unsigned char *data, unsigned *bins)
{
    __shared__ unsigned local[256];

    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void spin_lock(int *lock, int *counter, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
        *(volatile int *)counter += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

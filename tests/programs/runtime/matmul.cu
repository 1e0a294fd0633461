// SPDX-License-Identifier: BSD-3-Clause
// Tiled matrix product with static and with dynamic shared memory.
#include <cmath>

#include "runtime.h"

template <int TILE> __global__ void product(float *c, const float *a, const float *b, int n)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        int k = t + threadIdx.x, l = t + threadIdx.y;
        ta[threadIdx.y][threadIdx.x] = row < n && k < n ? a[row * n + k] : 0.0f;
        tb[threadIdx.y][threadIdx.x] = col < n && l < n ? b[l * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

__global__ void product_dynamic(float *c, const float *a, const float *b, int n, int tile)
{
    extern __shared__ float tiles[];
    float *ta = tiles, *tb = tiles + tile * tile;
    int row = blockIdx.y * tile + threadIdx.y, col = blockIdx.x * tile + threadIdx.x;
    int place = threadIdx.y * tile + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += tile) {
        int k = t + threadIdx.x, l = t + threadIdx.y;
        ta[place] = row < n && k < n ? a[row * n + k] : 0.0f;
        tb[place] = col < n && l < n ? b[l * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < tile; i++)
            sum += ta[threadIdx.y * tile + i] * tb[i * tile + threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

static void run(int n, int variant)
{
    size_t count = size_t(n) * n;
    random_numbers random(n);
    std::vector<float> a(count), b(count), c(count);
    for (size_t i = 0; i < count; i++) {
        a[i] = random.f32();
        b[i] = random.f32();
    }
    float *da, *db, *dc;
    CHECK(cudaMalloc(&da, count * 4));
    CHECK(cudaMalloc(&db, count * 4));
    CHECK(cudaMalloc(&dc, count * 4));
    CHECK(cudaMemcpy(da, a.data(), count * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), count * 4, cudaMemcpyHostToDevice));
    int tile = variant == 2 ? 12 : variant == 1 ? 8 : 16;
    dim3 grid((n + tile - 1) / tile, (n + tile - 1) / tile), block(tile, tile);
    if (variant == 0)
        product<16><<<grid, block>>>(dc, da, db, n);
    else if (variant == 1)
        product<8><<<grid, block>>>(dc, da, db, n);
    else
        product_dynamic<<<grid, block, 2 * tile * tile * 4>>>(dc, da, db, n, tile);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), dc, count * 4, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int row = 0; row < n; row++)
        for (int col = 0; col < n; col++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += double(a[row * n + k]) * b[k * n + col];
            worst = std::fmax(worst, std::fabs(sum - c[row * n + col]));
        }
    ok(worst < 1e-5 * n, "n = %d, tiles of %d, agrees with the CPU", n, tile);
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
}

int main()
{
    run(64, 0);
    run(61, 0);
    run(50, 1);
    run(50, 2);
    return done();
}

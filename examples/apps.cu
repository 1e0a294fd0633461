// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the examples with librgpu. Made into apps.ptx by `nvcc -ptx -arch=compute_75`.
#include <cstdint>

// One step of a heat equation on planes of WIDTH numbers. A GPU has PLANES of them, and before and behind these the nearest
// planes of its neighbours.
extern "C" __global__ void stencil(float *out, const float *in, uint32_t width, uint32_t planes)
{
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, plane = blockIdx.y + 1;
    if (x >= width || plane > planes)
        return;
    const float *at = in + (uint64_t)plane * width + x;
    float left = x ? at[-1] : 0, right = x + 1 < width ? at[1] : 0;
    out[(uint64_t)plane * width + x] = 0.5f * at[0] + 0.125f * (left + right + at[-(int64_t)width] + at[width]);
}

// ROWS rows, from FIRST on, of the product of a matrix that is given by a formula and a vector of SIZE numbers: a block
// for each row.
extern "C" __global__ void multiply(float *out, const float *in, uint32_t first, uint32_t size)
{
    __shared__ float sums[128];
    uint32_t row = first + blockIdx.x;
    float sum = 0;
    for (uint32_t column = threadIdx.x; column < size; column += blockDim.x)
        sum += in[column] * (float)((row * 7 + column * 13) % 17 + (row == column ? 64 : 1));
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (!threadIdx.x)
        out[row] = sums[0];
}

// The sum of the squares of COUNT numbers, by one block.
extern "C" __global__ void squares(float *out, const float *in, uint32_t count)
{
    __shared__ float sums[128];
    float sum = 0;
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
        sum += in[i] * in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (!threadIdx.x)
        *out = sums[0];
}

// A vector of length 1: SQUARE is the square of the length that it has.
extern "C" __global__ void normalize(float *vector, const float *square, uint32_t count)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        vector[i] /= sqrtf(*square);
}

// ROWS rows, from FIRST on, of the product of a sparse matrix, EACH entries to a row, and a vector: a thread for each row.
extern "C" __global__ void sparse(float *out, const float *in, const uint32_t *columns, const float *values,
                                  uint32_t first, uint32_t rows, uint32_t each)
{
    uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (row >= rows)
        return;
    for (uint32_t i = row * each; i < (row + 1) * each; i++)
        sum += values[i] * in[columns[i]];
    out[first + row] = sum;
}

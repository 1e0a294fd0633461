// SPDX-License-Identifier: BSD-3-Clause
// Implements the kernels of the examples with librgpu. `nvcc -ptx -arch=compute_75` generates
// apps.ptx from it.
#include <cstdint>

// Computes one step of a heat equation on planes of WIDTH numbers. A GPU has PLANES of them,
// between the nearest planes of its neighbours.
extern "C" __global__ void stencil(float *out, const float *in, uint32_t width, uint32_t planes)
{
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, plane = blockIdx.y + 1;
    if (x >= width || plane > planes)
        return;
    const float *at = in + (uint64_t)plane * width + x;
    float left = x ? at[-1] : 0, right = x + 1 < width ? at[1] : 0;
    out[(uint64_t)plane * width + x] = 0.5f * at[0] +
                                       0.125f * (left + right + at[-(int64_t)width] + at[width]);
}

// Multiplies ROWS rows, from FIRST on, of a matrix given by a formula with a vector of SIZE
// numbers; one block for each row.
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

// Sums the squares of COUNT numbers in one block.
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

// Scales a vector to length 1; SQUARE is the square of its present length.
extern "C" __global__ void normalize(float *vector, const float *square, uint32_t count)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        vector[i] /= sqrtf(*square);
}

// Multiplies ROWS rows, from FIRST on, of a sparse matrix with EACH entries per row with a vector;
// one thread for each row.
extern "C" __global__ void sparse(float *out, const float *in, const uint32_t *columns,
                                  const float *values, uint32_t first, uint32_t rows, uint32_t each)
{
    uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (row >= rows)
        return;
    for (uint32_t i = row * each; i < (row + 1) * each; i++)
        sum += values[i] * in[columns[i]];
    out[first + row] = sum;
}

// Particles in a plane of cells: 16 slots per cell with four numbers each; x below 0 ends a cell's
// list. A column has HEIGHT cells.
enum { SLOTS = 16 };
static __device__ bool is_there(const float4 &particle)
{
    return particle.x >= 0;
}

// Keeps a coordinate between 0 and WALL, and reverses its speed at a wall.
static __device__ void reflect(float *at, float *speed, float wall)
{
    if (*at < 0 || *at >= wall) {
        *speed = -*speed;
        *at = *at < 0 ? -*at : 2 * wall - *at;
    }
    *at = fminf(fmaxf(*at, 0.0f), wall - 0.01f);
}

// Moves the particles in cell (blockIdx.x, row) of this GPU. `in` has one column of each neighbour
// at its ends, `out` has two.
extern "C" __global__ void particles_move(float4 *out, const float4 *in, uint32_t height,
                                          uint32_t columns)
{
    uint32_t column = blockIdx.x + 1, row = blockIdx.y * blockDim.x + threadIdx.x;
    if (row >= height)
        return;
    const float4 *own = in + ((uint64_t)column * height + row) * SLOTS;
    float4 *to = out + ((uint64_t)(column + 1) * height + row) * SLOTS;
    for (uint32_t i = 0; i < SLOTS; i++) {
        float4 p = own[i];
        to[i] = p;
        if (!is_there(p))
            return;
        float fx = 0, fy = 0;
        for (uint32_t c = column - 1; c <= column + 1; c++)
            for (uint32_t r = row ? row - 1 : 0; r <= row + 1 && r < height; r++) {
                const float4 *cell = in + ((uint64_t)c * height + r) * SLOTS;
                for (uint32_t k = 0; k < SLOTS && is_there(cell[k]); k++) {
                    float dx = p.x - cell[k].x, dy = p.y - cell[k].y, near = 1 - dx * dx - dy * dy;
                    if (near > 0) {
                        fx += near * dx;
                        fy += near * dy;
                    }
                }
            }
        p.z = fminf(fmaxf(p.z + 0.05f * fx, -1.0f), 1.0f);
        p.w = fminf(fmaxf(p.w + 0.05f * fy, -1.0f), 1.0f);
        p.x += 0.05f * p.z;
        p.y += 0.05f * p.w;
        reflect(&p.x, &p.z, (float)columns);
        reflect(&p.y, &p.w, (float)height);
        to[i] = p;
    }
}

// Collects the particles that moved into cell (blockIdx.x, row) of `out`. The second column of
// `out` is number FIRST of all COLUMNS.
extern "C" __global__ void particles_sort(float4 *out, const float4 *in, uint32_t height,
                                          uint32_t first, uint32_t columns)
{
    uint32_t column = blockIdx.x, row = blockIdx.y * blockDim.x + threadIdx.x, count = 0;
    int32_t number = (int32_t)(first + column) - 1;
    if (row >= height)
        return;
    float4 *own = out + ((uint64_t)column * height + row) * SLOTS;
    for (uint32_t c = column; c <= column + 2 && number >= 0 && number < (int32_t)columns; c++)
        for (uint32_t r = row ? row - 1 : 0; r <= row + 1 && r < height; r++) {
            const float4 *cell = in + ((uint64_t)c * height + r) * SLOTS;
            for (uint32_t k = 0; k < SLOTS && is_there(cell[k]); k++)
                if ((int32_t)cell[k].x == number && (uint32_t)cell[k].y == row && count < SLOTS)
                    own[count++] = cell[k];
        }
    for (; count < SLOTS; count++)
        own[count] = make_float4(-1, 0, 0, 0);
}

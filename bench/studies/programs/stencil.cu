// SPDX-License-Identifier: BSD-3-Clause
// Computes one step of Jacobi's method; stencil.ptx is compiled from it. Each row except the first
// and last of `rows` + 2 gets the mean of its neighbours; values beyond the outer columns count as
// 0.
extern "C" __global__ void jacobi(float *out, const float *in, unsigned width, unsigned rows)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y + 1;
    if (i < width && row <= rows) {
        const float *here = in + (size_t)row * width + i;
        float left = i ? here[-1] : 0, right = i + 1 < width ? here[1] : 0;
        out[(size_t)row * width + i] = 0.25f * (left + right + here[-(long)width] + here[width]);
    }
}

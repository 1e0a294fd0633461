// SPDX-License-Identifier: BSD-3-Clause
// The CUDA C++ source of images.ptx.
extern "C" {
__constant__ cudaTextureObject_t constant_list[4];
__device__ cudaTextureObject_t variable_list[4];
struct scaled {
    float factor;
    cudaTextureObject_t texture;
};

__global__ void read_2d(cudaTextureObject_t t, const float2 *at, float *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, at[i].x, at[i].y);
}
__global__ void read_scaled(struct scaled s, const float2 *at, float *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = s.factor * tex2D<float>(s.texture, at[i].x, at[i].y);
}
// Each thread a texture of its own.
__global__ void read_listed(const cudaTextureObject_t *list, unsigned count, const float2 *at,
                            float *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(list[i % count], at[i].x, at[i].y);
}
__global__ void read_constant(unsigned count, const float2 *at, float *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(constant_list[i % count], at[i].x, at[i].y);
}
__global__ void read_variable(unsigned count, const float2 *at, float *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(variable_list[i % count], at[i].x, at[i].y);
}
__global__ void fetch(cudaTextureObject_t t, float *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(t, i);
}
__global__ void read_level(cudaTextureObject_t t, float level, float *out)
{
    out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, level + threadIdx.x);
}
__global__ void read_layer(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex2DLayered<float>(t, 0.5f, 0.5f, threadIdx.x);
}
__global__ void fill_surface(cudaSurfaceObject_t s, unsigned width, unsigned height, float value)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) surf2Dwrite(value + x + 1000.0f * y, s, x * 4, y);
}
// A step of a smoothing filter: read as a texture, write as a surface.
__global__ void smooth(cudaTextureObject_t t, cudaSurfaceObject_t s, unsigned width, unsigned height)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = x + 0.5f, v = y + 0.5f;
    float sum = tex2D<float>(t, u - 0.5f, v - 0.5f) + tex2D<float>(t, u + 0.5f, v - 0.5f) +
                tex2D<float>(t, u - 0.5f, v + 0.5f) + tex2D<float>(t, u + 0.5f, v + 0.5f);
    surf2Dwrite(sum * 0.25f, s, x * 4, y);
}
}

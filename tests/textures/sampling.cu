// SPDX-License-Identifier: BSD-3-Clause
// The CUDA C++ source of sampling.ptx: one kernel for each way to read a texture or to access a
// surface. A sample is twelve floats: x, y, z, layer, level, and the two derivatives.
#define SAMPLE_FLOATS 12
#define KERNEL(name, T, expression) \
    extern "C" __global__ void name(cudaTextureObject_t t, const float *in, T *out, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i >= n) \
            return; \
        const float *c = in + SAMPLE_FLOATS * i; \
        int layer = (int)c[3]; \
        float2 a2 = make_float2(c[5], c[6]), b2 = make_float2(c[8], c[9]); \
        float4 a3 = make_float4(c[5], c[6], c[7], 0), b3 = make_float4(c[8], c[9], c[10], 0); \
        out[i] = expression; \
    }
#define BOTH(name, expression) \
    KERNEL(f_##name, float4, expression(float4)) \
    KERNEL(u_##name, uint4, expression(uint4))

#define E_1d(T) tex1D<T>(t, c[0])
#define E_2d(T) tex2D<T>(t, c[0], c[1])
#define E_3d(T) tex3D<T>(t, c[0], c[1], c[2])
#define E_cube(T) texCubemap<T>(t, c[0], c[1], c[2])
#define E_a1d(T) tex1DLayered<T>(t, c[0], layer)
#define E_a2d(T) tex2DLayered<T>(t, c[0], c[1], layer)
#define E_acube(T) texCubemapLayered<T>(t, c[0], c[1], c[2], layer)
#define E_1d_level(T) tex1DLod<T>(t, c[0], c[4])
#define E_2d_level(T) tex2DLod<T>(t, c[0], c[1], c[4])
#define E_3d_level(T) tex3DLod<T>(t, c[0], c[1], c[2], c[4])
#define E_cube_level(T) texCubemapLod<T>(t, c[0], c[1], c[2], c[4])
#define E_a2d_level(T) tex2DLayeredLod<T>(t, c[0], c[1], layer, c[4])
#define E_acube_level(T) texCubemapLayeredLod<T>(t, c[0], c[1], c[2], layer, c[4])
#define E_1d_grad(T) tex1DGrad<T>(t, c[0], c[5], c[8])
#define E_2d_grad(T) tex2DGrad<T>(t, c[0], c[1], a2, b2)
#define E_3d_grad(T) tex3DGrad<T>(t, c[0], c[1], c[2], a3, b3)
#define E_cube_grad(T) texCubemapGrad<T>(t, c[0], c[1], c[2], a3, b3)
#define E_a2d_grad(T) tex2DLayeredGrad<T>(t, c[0], c[1], layer, a2, b2)
#define E_fetch(T) tex1Dfetch<T>(t, (int)c[0])
#define E_gather0(T) tex2Dgather<T>(t, c[0], c[1], 0)
#define E_gather1(T) tex2Dgather<T>(t, c[0], c[1], 1)
#define E_gather2(T) tex2Dgather<T>(t, c[0], c[1], 2)
#define E_gather3(T) tex2Dgather<T>(t, c[0], c[1], 3)
BOTH(1d, E_1d)
BOTH(2d, E_2d)
BOTH(3d, E_3d)
BOTH(cube, E_cube)
BOTH(a1d, E_a1d)
BOTH(a2d, E_a2d)
BOTH(acube, E_acube)
BOTH(1d_level, E_1d_level)
BOTH(2d_level, E_2d_level)
BOTH(3d_level, E_3d_level)
BOTH(cube_level, E_cube_level)
BOTH(a2d_level, E_a2d_level)
BOTH(acube_level, E_acube_level)
BOTH(1d_grad, E_1d_grad)
BOTH(2d_grad, E_2d_grad)
BOTH(3d_grad, E_3d_grad)
BOTH(cube_grad, E_cube_grad)
BOTH(a2d_grad, E_a2d_grad)
BOTH(fetch, E_fetch)
BOTH(gather0, E_gather0)
BOTH(gather1, E_gather1)
BOTH(gather2, E_gather2)
BOTH(gather3, E_gather3)

// Reads that CUDA C++ does not offer: PTX with an offset, and the half and sparse forms.
__device__ float4 offset_2d(cudaTextureObject_t t, float x, float y)
{
    float4 r;
    asm volatile("{.reg .s32 o; mov.s32 o, 1; .reg .s32 p; mov.s32 p, -2; tex.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}], {o, p};}"
                 : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w) : "l"(t), "f"(x), "f"(y));
    return r;
}
KERNEL(f_2d_offset, float4, offset_2d(t, c[0], c[1]))
__device__ float4 offset_gather(cudaTextureObject_t t, float x, float y)
{
    float4 r;
    asm volatile("{.reg .s32 o; mov.s32 o, 2; .reg .s32 p; mov.s32 p, -1; tld4.g.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}], {o, p};}"
                 : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w) : "l"(t), "f"(x), "f"(y));
    return r;
}
KERNEL(f_gather_offset, float4, offset_gather(t, c[0], c[1]))
__device__ uint4 half_2d(cudaTextureObject_t t, float x, float y)
{
    uint4 r;
    asm volatile("{.reg .b16 a,b,c,d; tex.2d.v4.f16.f32 {a,b,c,d}, [%4, {%5,%6}];"
                 " cvt.u32.u16 %0, a; cvt.u32.u16 %1, b; cvt.u32.u16 %2, c; cvt.u32.u16 %3, d;}"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(t), "f"(x), "f"(y));
    return r;
}
KERNEL(u_2d_half, uint4, half_2d(t, c[0], c[1]))
// Integer coordinates address texels.
__device__ float4 texel_2d(cudaTextureObject_t t, int x, int y)
{
    float4 r;
    asm volatile("tex.2d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5,%6}];"
                 : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w) : "l"(t), "r"(x), "r"(y));
    return r;
}
KERNEL(f_2d_texel, float4, texel_2d(t, (int)c[0], (int)c[1]))
__device__ float4 texel_level_2d(cudaTextureObject_t t, int x, int y, int level)
{
    float4 r;
    asm volatile("tex.level.2d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5,%6}], %7;"
                 : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w) : "l"(t), "r"(x), "r"(y), "r"(level));
    return r;
}
KERNEL(f_2d_texel_level, float4, texel_level_2d(t, (int)c[0], (int)c[1], (int)c[4]))
__device__ float4 resident_2d(cudaTextureObject_t t, float x, float y)
{
    bool resident = false;
    float4 r = tex2D<float4>(t, x, y, &resident);
    r.w = resident;
    return r;
}
KERNEL(f_2d_resident, float4, resident_2d(t, c[0], c[1]))
#define QUERY(n, name) asm volatile("txq." name ".b32 %0, [%1];" : "=r"(out[n]) : "l"(t));
extern "C" __global__ void query_texture(cudaTextureObject_t t, unsigned *out)
{
    QUERY(0, "width")
    QUERY(1, "height")
    QUERY(2, "depth")
}
extern "C" __global__ void query_kind(cudaTextureObject_t t, unsigned *out)
{
    asm volatile("txq.channel_data_type.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm volatile("txq.channel_order.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm volatile("txq.normalized_coords.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
}
extern "C" __global__ void query_levels(cudaTextureObject_t t, unsigned *out)
{
    asm volatile("txq.array_size.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm volatile("txq.num_mipmap_levels.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm volatile("txq.num_samples.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
}
extern "C" __global__ void query_level(cudaTextureObject_t t, unsigned *out, unsigned level)
{
    asm volatile("txq.level.width.b32 %0, [%1], %2;" : "=r"(out[0]) : "l"(t), "r"(level));
    asm volatile("txq.level.height.b32 %0, [%1], %2;" : "=r"(out[1]) : "l"(t), "r"(level));
    asm volatile("txq.level.depth.b32 %0, [%1], %2;" : "=r"(out[2]) : "l"(t), "r"(level));
}
extern "C" __global__ void query_surface(cudaSurfaceObject_t s, unsigned *out)
{
    asm volatile("suq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(s));
    asm volatile("suq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(s));
    asm volatile("suq.depth.b32 %0, [%1];" : "=r"(out[2]) : "l"(s));
}
extern "C" __global__ void query_surface_kind(cudaSurfaceObject_t s, unsigned *out)
{
    asm volatile("suq.channel_data_type.b32 %0, [%1];" : "=r"(out[0]) : "l"(s));
    asm volatile("suq.channel_order.b32 %0, [%1];" : "=r"(out[1]) : "l"(s));
    asm volatile("suq.array_size.b32 %0, [%1];" : "=r"(out[2]) : "l"(s));
}

// Surfaces: place i is four ints x (bytes), y, z, layer or face. Reads give four words.
template <class T> __device__ uint4 words(T value)
{
    uint4 r = make_uint4(0, 0, 0, 0);
    memcpy(&r, &value, sizeof value);
    return r;
}
#define SURFACE(name, T, boundary, READ, WRITE) \
    extern "C" __global__ void read_##name(cudaSurfaceObject_t s, const int4 *in, uint4 *out, \
                                           unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i >= n) \
            return; \
        int4 p = in[i]; \
        out[i] = words<T>(READ(T, boundary)); \
    } \
    extern "C" __global__ void write_##name(cudaSurfaceObject_t s, const int4 *in, \
                                            const uint4 *values, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i >= n) \
            return; \
        int4 p = in[i]; \
        T v; \
        memcpy(&v, &values[i], sizeof v); \
        WRITE(boundary); \
    }
#define R_1d(T, b) surf1Dread<T>(s, p.x, b)
#define W_1d(b) surf1Dwrite(v, s, p.x, b)
#define R_2d(T, b) surf2Dread<T>(s, p.x, p.y, b)
#define W_2d(b) surf2Dwrite(v, s, p.x, p.y, b)
#define R_3d(T, b) surf3Dread<T>(s, p.x, p.y, p.z, b)
#define W_3d(b) surf3Dwrite(v, s, p.x, p.y, p.z, b)
#define R_a1d(T, b) surf1DLayeredread<T>(s, p.x, p.w, b)
#define W_a1d(b) surf1DLayeredwrite(v, s, p.x, p.w, b)
#define R_a2d(T, b) surf2DLayeredread<T>(s, p.x, p.y, p.w, b)
#define W_a2d(b) surf2DLayeredwrite(v, s, p.x, p.y, p.w, b)
#define R_cube(T, b) surfCubemapread<T>(s, p.x, p.y, p.w, b)
#define W_cube(b) surfCubemapwrite(v, s, p.x, p.y, p.w, b)
#define MODES(name, T, READ, WRITE) \
    SURFACE(name##_zero, T, cudaBoundaryModeZero, READ, WRITE) \
    SURFACE(name##_clamp, T, cudaBoundaryModeClamp, READ, WRITE) \
    SURFACE(name##_trap, T, cudaBoundaryModeTrap, READ, WRITE)
MODES(1d_4, unsigned, R_1d, W_1d)
MODES(2d_1, unsigned char, R_2d, W_2d)
MODES(2d_2, unsigned short, R_2d, W_2d)
MODES(2d_4, unsigned, R_2d, W_2d)
MODES(2d_8, uint2, R_2d, W_2d)
MODES(2d_16, uint4, R_2d, W_2d)
MODES(3d_4, unsigned, R_3d, W_3d)
MODES(a1d_4, unsigned, R_a1d, W_a1d)
MODES(a2d_4, unsigned, R_a2d, W_a2d)
MODES(cube_4, unsigned, R_cube, W_cube)

// Formatted stores take texels and four 32-bit components; reductions work on 32 or 64 bits.
#define FORMATTED(mode) \
    extern "C" __global__ void format_##mode(cudaSurfaceObject_t s, const int4 *in, \
                                             const uint4 *values, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i >= n) \
            return; \
        int4 p = in[i]; \
        uint4 v = values[i]; \
        asm volatile("sust.p.2d.v4.b32." #mode " [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(s), \
                     "r"(p.x), "r"(p.y), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)); \
    }
FORMATTED(zero)
FORMATTED(clamp)
FORMATTED(trap)
#define REDUCE(name, form, op, ctype, mode) \
    extern "C" __global__ void reduce_##name(cudaSurfaceObject_t s, const int4 *in, \
                                             const uint4 *values, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i >= n) \
            return; \
        int4 p = in[i]; \
        asm volatile("sured." form "." op ".2d." ctype "." mode " [%0, {%1, %2}], %3;" ::"l"(s), \
                     "r"(p.x), "r"(p.y), "r"(values[i].x)); \
    }
#define REDUCE64(name, form, op, ctype, mode) \
    extern "C" __global__ void reduce_##name(cudaSurfaceObject_t s, const int4 *in, \
                                             const uint4 *values, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i >= n) \
            return; \
        int4 p = in[i]; \
        unsigned long long v = (unsigned long long)values[i].y << 32 | values[i].x; \
        asm volatile("sured." form "." op ".2d." ctype "." mode " [%0, {%1, %2}], %3;" ::"l"(s), \
                     "r"(p.x), "r"(p.y), "l"(v)); \
    }
REDUCE(add_u32, "b", "add", "u32", "zero")
REDUCE(min_u32, "b", "min", "u32", "zero")
REDUCE(max_s32, "b", "max", "s32", "zero")
REDUCE(and_b32, "b", "and", "b32", "zero")
REDUCE(or_b32, "b", "or", "b32", "clamp")
REDUCE64(add_u64, "b", "add", "u64", "zero")
REDUCE(add_texel, "p", "add", "b32", "zero")

// SPDX-License-Identifier: BSD-3-Clause
// What reduce.ptx holds: two arrays become one, number by number, in all types and operations of rgpu.h. Made by
// `nvcc -ptx -arch=compute_75`.
#include <cstdint>

struct half { uint16_t bits; };
struct bfloat { uint16_t bits; };

template <typename T> struct number {
    typedef T wide;
    static __device__ wide load(T value) { return value; }
    static __device__ T store(wide value) { return value; }
};
template <> struct number<half> {
    typedef float wide;
    static __device__ float load(half value)
    {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
        return wide;
    }
    static __device__ half store(float value)
    {
        half narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
        return narrow;
    }
};
// Rounds to the nearest, of two to the even one, and keeps what is not a number.
template <> struct number<bfloat> {
    typedef float wide;
    static __device__ float load(bfloat value) { return __uint_as_float((uint32_t)value.bits << 16); }
    static __device__ bfloat store(float value)
    {
        uint32_t bits = __float_as_uint(value);
        if (value != value)
            return bfloat{(uint16_t)(bits >> 16 | 0x40)};
        return bfloat{(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
    }
};

struct sum { template <typename T> static __device__ T of(T a, T b) { return a + b; } };
struct product { template <typename T> static __device__ T of(T a, T b) { return a * b; } };
struct minimum { template <typename T> static __device__ T of(T a, T b) { return b < a || b != b ? b : a; } };
struct maximum { template <typename T> static __device__ T of(T a, T b) { return b > a || b != b ? b : a; } };

template <typename T, typename O> static __device__ void reduce(T *into, const T *from, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        into[i] = number<T>::store(O::of(number<T>::load(into[i]), number<T>::load(from[i])));
}

#define KERNEL(operation, name, type) \
    extern "C" __global__ void operation##_##name(type *into, const type *from, uint64_t count) \
    { \
        reduce<type, operation>(into, from, count); \
    }
#define KERNELS(name, type) \
    KERNEL(sum, name, type) \
    KERNEL(product, name, type) \
    KERNEL(minimum, name, type) \
    KERNEL(maximum, name, type)
KERNELS(int32, int32_t)
KERNELS(uint32, uint32_t)
KERNELS(int64, int64_t)
KERNELS(uint64, uint64_t)
KERNELS(float16, half)
KERNELS(bfloat16, bfloat)
KERNELS(float32, float)
KERNELS(float64, double)

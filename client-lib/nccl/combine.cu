// SPDX-License-Identifier: BSD-3-Clause
// Source of combine.ptx: combines two arrays into a third one, number by number, in all types and
// operations of NCCL, and multiplies or divides an array by one number. The result may be one of
// the operands. Made by `nvcc -ptx -arch=compute_75 -I.`.
#include "client-lib/nccl/numbers.cuh"

// A number of 8 bits: the sign, EXPONENT bits with the given bias, and a fraction. With INFINITE
// the largest exponent stands for infinity and NaN, as in IEEE 754; otherwise only all bits set
// stand for NaN.
template <int EXPONENT, bool INFINITE> struct small_float { uint8_t bits; };
typedef small_float<4, false> float8e4m3;
typedef small_float<5, true> float8e5m2;

template <int EXPONENT, bool INFINITE> struct number<small_float<EXPONENT, INFINITE>> {
    typedef float wide;
    typedef small_float<EXPONENT, INFINITE> narrow;
    static const int FRACTION = 7 - EXPONENT, BIAS = (1 << (EXPONENT - 1)) - 1, TOP = (1 << EXPONENT) - 1;
    // The largest number, and the code of NaN.
    static const uint8_t MOST = INFINITE ? (TOP << FRACTION) - 1 : 0x7e, NONE = 0x7f;

    static __device__ float load(narrow value)
    {
        int exponent = value.bits >> FRACTION & TOP, fraction = value.bits & ((1 << FRACTION) - 1);
        float wide;
        if (INFINITE && exponent == TOP)
            wide = __uint_as_float(fraction ? 0x7fc00000 : 0x7f800000);
        else if (!INFINITE && (value.bits & 0x7f) == NONE)
            wide = __uint_as_float(0x7fc00000);
        else if (exponent)
            wide = __uint_as_float((uint32_t)(exponent - BIAS + 127) << 23 | (uint32_t)fraction << (23 - FRACTION));
        else
            wide = (float)fraction * __uint_as_float((uint32_t)(1 - BIAS - FRACTION + 127) << 23);
        return value.bits & 0x80 ? -wide : wide;
    }
    // Converts to the narrow format. Values that are too large become the largest number, as in
    // NVIDIA's saturating conversions.
    static __device__ narrow store(float value)
    {
        uint32_t bits = __float_as_uint(value), sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;
        if (value != value)
            return narrow{(uint8_t)(sign | NONE)};
        int exponent = (int)(size >> 23) - 127 + BIAS, drop = 23 - FRACTION;
        uint32_t fraction = (size & 0x7fffff) | 0x800000;
        if (exponent < 1) {
            drop += 1 - exponent;
            exponent = 1;
        }
        if (drop > 25)
            return narrow{(uint8_t)sign};
        uint32_t kept = fraction >> drop, rest = fraction & ((1u << drop) - 1), tie = 1u << (drop - 1);
        kept += rest > tie || (rest == tie && (kept & 1));
        uint32_t all = ((uint32_t)(exponent - 1) << FRACTION) + kept;
        return narrow{(uint8_t)(sign | (all > MOST ? MOST : all))};
    }
};

struct scaled { template <typename T> static __device__ T of(T a, T b) { return a * b; } };
struct divided { template <typename T> static __device__ T of(T a, T b) { return a / b; } };

template <typename T, typename O> static __device__ T apply(T a, T b)
{
    return number<T>::store(O::template of<typename number<T>::wide>(number<T>::load(a), number<T>::load(b)));
}

// Numbers are combined 16 bytes at a time, or 4 bytes for numbers of one byte, if all three
// addresses are so aligned.
template <typename T> struct packs { static const int BYTES = sizeof(T) == 1 ? 4 : 16, EACH = BYTES / sizeof(T); };
template <typename T> struct alignas(packs<T>::BYTES) pack { T of[packs<T>::EACH]; };

template <typename T, typename O>
static __device__ void combine(T *to, const T *a, const T *b, uint64_t count)
{
    const uint64_t each = packs<T>::EACH, step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, whole = 0;
    if ((((uint64_t)to | (uint64_t)a | (uint64_t)b) & (packs<T>::BYTES - 1)) == 0)
        whole = count / each;
    for (uint64_t i = first; i < whole; i += step) {
        pack<T> left = ((const pack<T> *)a)[i], right = ((const pack<T> *)b)[i];
#pragma unroll
        for (int k = 0; k < (int)each; k++)
            left.of[k] = apply<T, O>(left.of[k], right.of[k]);
        ((pack<T> *)to)[i] = left;
    }
    for (uint64_t i = whole * each + first; i < count; i += step)
        to[i] = apply<T, O>(a[i], b[i]);
}

// BY points to a single number.
template <typename T, typename O>
static __device__ void with_one(T *to, const T *a, const T *by, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = apply<T, O>(a[i], *by);
}

#define KERNEL(way, operation, name, type) \
    extern "C" __global__ void operation##_##name(type *to, const type *a, const type *b, \
                                                  uint64_t count) \
    { \
        way<type, operation>(to, a, b, count); \
    }
#define KERNELS(name, type) \
    KERNEL(combine, sum, name, type) \
    KERNEL(combine, product, name, type) \
    KERNEL(combine, minimum, name, type) \
    KERNEL(combine, maximum, name, type) \
    KERNEL(with_one, scaled, name, type)
#define INTEGER_KERNELS(name, type) \
    KERNELS(name, type) \
    KERNEL(with_one, divided, name, type)
INTEGER_KERNELS(int8, int8_t)
INTEGER_KERNELS(uint8, uint8_t)
INTEGER_KERNELS(int32, int32_t)
INTEGER_KERNELS(uint32, uint32_t)
INTEGER_KERNELS(int64, int64_t)
INTEGER_KERNELS(uint64, uint64_t)
KERNELS(float16, half)
KERNELS(bfloat16, bfloat)
KERNELS(float32, float)
KERNELS(float64, double)
KERNELS(float8e4m3, float8e4m3)
KERNELS(float8e5m2, float8e5m2)

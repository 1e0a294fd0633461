// SPDX-License-Identifier: BSD-3-Clause
// Numbers as kernels of reductions compute with them: how each type is loaded into what is computed with and stored
// again, and the operations.
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

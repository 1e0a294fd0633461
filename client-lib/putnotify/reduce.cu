// SPDX-License-Identifier: BSD-3-Clause
// Source of reduce.ptx: combines two arrays into one, number by number, in all types and operations
// of rgpu.h. Made by `nvcc -ptx -arch=compute_75 -I.`.
#include "client-lib/putnotify/numbers.cuh"

template <typename T, typename O>
static __device__ void reduce(T *into, const T *from, uint64_t count)
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

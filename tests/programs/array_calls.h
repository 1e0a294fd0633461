// SPDX-License-Identifier: BSD-3-Clause
// Functions for the array-*.c programs: the calls on arrays, and short ways to create arrays.
#ifndef RGPU_TESTS_ARRAY_CALLS_H
#define RGPU_TESTS_ARRAY_CALLS_H

#include "tests/programs/driver.h"

#ifndef WITH_CUDA_H
#define cuArrayCreate cuArrayCreate_v2
#define cuArrayGetDescriptor cuArrayGetDescriptor_v2
#define cuArray3DCreate cuArray3DCreate_v2
#define cuArray3DGetDescriptor cuArray3DGetDescriptor_v2
#define cuMemcpyDtoA cuMemcpyDtoA_v2
#define cuMemcpyAtoD cuMemcpyAtoD_v2
#define cuMemcpyHtoA cuMemcpyHtoA_v2
#define cuMemcpyAtoH cuMemcpyAtoH_v2
#define cuMemcpyAtoA cuMemcpyAtoA_v2
#define cuMemcpyHtoAAsync cuMemcpyHtoAAsync_v2
#define cuMemcpyAtoHAsync cuMemcpyAtoHAsync_v2
#endif

static inline CUarray make_array(size_t width, size_t height, size_t depth, CUarray_format format,
                                 unsigned channels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {width, height, depth, format, channels, flags};
    CUarray array;
    CHECK(cuArray3DCreate(&array, &descriptor));
    return array;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Functions for the CUDA C++ programs of this folder. The programs use only the runtime, and are
// linked with it statically and dynamically.
#pragma once

#include <cuda_runtime.h>
#include <vector>

#include "tests/tap.h"

#define CHECK(call) check_call((call), #call, __FILE__, __LINE__)
static inline void check_call(cudaError_t result, const char *text, const char *file, int line)
{
    if (result != cudaSuccess)
        tap_bail(file, line, "%s gave %s: %s", text, cudaGetErrorName(result),
                 cudaGetErrorString(result));
}

#define gives(call, want, ...) gives_result((call), (want), __FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 5, 6))) static inline bool
gives_result(cudaError_t got, cudaError_t want, const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_report(file, line, got == want, format, args);
    va_end(args);
    if (got != want)
        diag("    got: %s   want: %s", cudaGetErrorName(got), cudaGetErrorName(want));
    return got == want;
}

struct random_numbers {
    uint64_t state;
    explicit random_numbers(uint64_t seed) : state(seed * 2 + 1)
    {
    }
    uint32_t u32()
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return uint32_t((state * 0x2545F4914F6CDD1DULL) >> 32);
    }
    float f32()
    {
        return float(u32() >> 8) / (1 << 23) - 1.0f;
    }
};

static __global__ void wait_kernel(volatile unsigned *flag)
{
    while (*flag == 0)
        ;
}

// Work that keeps a stream busy until it is released, however slow the machine is.
struct hold {
    unsigned *flag; // given back with the context: the kernel may still look
    cudaStream_t stream;
    explicit hold(cudaStream_t held)
    {
        CHECK(cudaMalloc(&flag, sizeof(*flag)));
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMemsetAsync(flag, 0, sizeof(*flag), stream));
        CHECK(cudaStreamSynchronize(stream));
        wait_kernel<<<1, 1, 0, held>>>(flag);
    }
    void release()
    {
        CHECK(cudaMemsetAsync(flag, 1, sizeof(*flag), stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }
};

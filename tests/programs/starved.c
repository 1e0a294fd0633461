// SPDX-License-Identifier: BSD-3-Clause
// A program without free memory: every allocation of the library fails once, one after the other.
// Each time the calls report it, nothing crashes, and the same calls succeed when there is memory
// again.
#include <errno.h>

#include "tests/programs/driver.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int main(void)
{
    skip_all("the sanitizer has the allocator for itself");
}
#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

static __thread long left = -1; // allocations until one fails; negative: none does

static bool fails_now(void)
{
    if (left < 0 || left-- > 0)
        return false;
    errno = ENOMEM; // the C library's own callers count on it
    return true;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return fails_now() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __libc_calloc(count, size);
}

static CUresult first_failure;
static unsigned nameless;
static bool succeeds(CUresult result)
{
    if (result != CUDA_SUCCESS && first_failure == CUDA_SUCCESS)
        first_failure = result;
    return result == CUDA_SUCCESS;
}

// Makes calls whose state the library has to keep.
static void work(const struct gpu *gpu)
{
    CUlibrary library;
    CUkernel in_library;
    CUfunction function;
    CUmodule module;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    const char *name;
    first_failure = CUDA_SUCCESS;
    if (succeeds(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0))) {
        if (succeeds(cuLibraryGetKernel(&in_library, library, "add")) &&
            succeeds(cuKernelGetFunction(&function, in_library)))
            nameless += succeeds(cuFuncGetName(&name, function)) && (!name || strcmp(name, "add"));
        CHECK(cuLibraryUnload(library));
    }
    if (succeeds(cuModuleLoadData(&module, kernels_ptx))) {
        size_t offset, size;
        if (succeeds(cuModuleGetFunction(&function, module, "add")))
            succeeds(cuFuncGetParamInfo(function, 0, &offset, &size));
        CHECK(cuModuleUnload(module));
    }
    if (succeeds(cuStreamCreate(&stream, 0)))
        CHECK(cuStreamDestroy(stream));
    if (succeeds(cuEventCreate(&event, 0)))
        CHECK(cuEventDestroy(event));
    if (succeeds(cuMemAlloc(&memory, 4096)))
        CHECK(cuMemFree(memory));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    unsigned failed = 0, others = 0;
    long n = 0;
    work(&gpu);
    ok(first_failure == CUDA_SUCCESS, "all of it works with memory");
    for (bool reached = true; reached && n < 100000; n++) {
        left = n;
        work(&gpu);
        reached = left < 0;
        left = -1;
        failed += first_failure != CUDA_SUCCESS;
        others += first_failure != CUDA_SUCCESS && first_failure != CUDA_ERROR_OUT_OF_MEMORY;
        if (first_failure != CUDA_SUCCESS && first_failure != CUDA_ERROR_OUT_OF_MEMORY)
            diag("allocation %ld: %s", n, result_name(first_failure));
    }
    diag("%ld allocations, %u failures", n - 1, failed);
    ok(failed > 3, "allocations failed");
    is_int(nameless, 0, "a function that was given has its name");
    is_int(others, 0, "every failure is called OUT_OF_MEMORY");
    work(&gpu);
    ok(first_failure == CUDA_SUCCESS, "all of it works again");
    close_gpu(&gpu);
    return done();
}
#endif

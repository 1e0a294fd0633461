// SPDX-License-Identifier: BSD-3-Clause
// Questions about functions and limits that are asked again and again, before each launch: the
// answers are right, also after something was set. tests/session/watched-calls.t counts how often
// the box was asked.
#include "tests/programs/driver.h"

enum { TIMES = 300 };

static int attribute(CUfunction function, CUfunction_attribute name)
{
    int value = -1;
    CHECK(cuFuncGetAttribute(&value, name, function));
    return value;
}

static int blocks_with(CUfunction function, size_t bytes)
{
    int blocks = -1;
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, bytes));
    return blocks;
}

static void occupancy(CUfunction function)
{
    int blocks = blocks_with(function, 0), fewer = blocks_with(function, 40000), other = 0;
    size_t bytes = 0, again = 0;
    CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function, 1, 128));
    for (int i = 0; i < TIMES; i++) {
        CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&again, function, 1, 128));
        other += blocks_with(function, 0) != blocks || blocks_with(function, 40000) != fewer ||
                 again != bytes;
    }
    is_int(other, 0, "occupancy is the same each time");
    ok(fewer < blocks, "and fewer blocks fit when each takes 40000 bytes (%d, %d)", blocks, fewer);
    CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&again, function, 16, 128));
    ok(again < bytes, "sixteen blocks leave less memory for each than one does");
    gives(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function, 128, 0),
          CUDA_ERROR_INVALID_VALUE, "an answer needs a place");
}

static void settings(CUfunction function, CUfunction beside)
{
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    int before = attribute(beside, most), other = 0;
    for (int i = 0; i < TIMES; i++)
        CHECK(cuFuncSetAttribute(function, most, 16384));
    for (int i = 0; i < TIMES; i++)
        other += attribute(function, most) != 16384;
    is_int(other, 0, "an attribute is what it was set to");
    is_int(attribute(beside, most), before, "that of another function is as before");
    gives(cuFuncSetAttribute(function, most, 1 << 30), CUDA_ERROR_INVALID_VALUE,
          "a value that is too large is refused");
    is_int(attribute(function, most), 16384, "and changes nothing");
    CHECK(cuFuncSetAttribute(function, most, 8192));
    is_int(attribute(function, most), 8192, "another value takes its place");
    CHECK(cuFuncSetAttribute(beside, most, 4096));
    CHECK(cuFuncSetAttribute(function, most, 16384));
    is_int(attribute(function, most), 16384, "and the first one can come back");
    is_int(attribute(beside, most), 4096, "beside that of another function");
    gives(cuFuncGetAttribute(&other, (CUfunction_attribute)99, function), CUDA_ERROR_INVALID_VALUE,
          "there is no attribute 99");
}

static void of_kernels(const struct gpu *gpu)
{
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    int value = 0, other = 0;
    CHECK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "dynamic_shared"));
    CHECK(cuKernelGetFunction(&function, kernel));
    attribute(function, most);
    for (int i = 0; i < TIMES; i++) {
        CHECK(cuKernelSetAttribute(most, 20480, kernel, gpu->device));
        CHECK(cuKernelGetAttribute(&value, most, kernel, gpu->device));
        other += value != 20480;
    }
    is_int(other, 0, "a kernel's attribute is what it was set to");
    is_int(attribute(function, most), 20480, "also that of its function in the context");
    CHECK(cuFuncSetAttribute(function, most, 12288));
    is_int(attribute(function, most), 12288, "until that is set itself");
    int blocks = blocks_with((CUfunction)kernel, 0);
    is_int(blocks, blocks_with(function, 0), "as many blocks of the kernel fit as of its function");
    CHECK(cuLibraryUnload(library));
    gives(cuKernelGetAttribute(&value, most, kernel, gpu->device), CUDA_ERROR_INVALID_HANDLE,
          "nothing is known of the kernel when its library has ended");
}

static void limits(void)
{
    const CUlimit heap = CU_LIMIT_MALLOC_HEAP_SIZE, texts = CU_LIMIT_PRINTF_FIFO_SIZE;
    size_t first, value = 0;
    int other = 0;
    CHECK(cuCtxGetLimit(&first, heap));
    for (int i = 0; i < TIMES; i++) {
        CHECK(cuCtxGetLimit(&value, heap));
        other += value != first;
    }
    is_int(other, 0, "a limit is the same each time");
    CHECK(cuCtxSetLimit(texts, 2 << 20));
    CHECK(cuCtxGetLimit(&value, texts));
    is_int(value, 2 << 20, "until it is set");
    gives(cuCtxGetLimit(NULL, heap), CUDA_ERROR_INVALID_VALUE, "it needs a place");
    gives(cuCtxGetLimit(&value, (CUlimit)99), CUDA_ERROR_INVALID_VALUE, "there is no limit 99");
    CUcontext other_context;
    CUdevice device;
    CHECK(cuCtxGetDevice(&device));
    CHECK(cuCtxCreate_v2(&other_context, 0, device));
    CHECK(cuCtxGetLimit(&value, texts));
    ok(value != 2 << 20, "another context has its own");
    CHECK(cuCtxDestroy(other_context));
    CHECK(cuCtxGetLimit(&value, texts));
    is_int(value, 2 << 20, "which changes nothing in the first");
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUfunction shared = kernel(&gpu, "dynamic_shared"), beside = kernel(&gpu, "grid_barrier");
    occupancy(shared);
    settings(shared, beside);
    of_kernels(&gpu);
    limits();
    close_gpu(&gpu);
    return done();
}

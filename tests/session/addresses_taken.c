// SPDX-License-Identifier: BSD-3-Clause
// A program that has memory of its own wherever the box's driver allocates: it fills the addresses
// around the first allocation, and then allocates in every way that lets the client choose
// addresses.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/driver.h"

#define AROUND ((size_t)64 << 30)
#define STEP ((size_t)16 << 20)

// Fills what is free within AROUND of ADDRESS on both sides. Returns the bytes that it took.
static size_t fill(CUdeviceptr address)
{
    size_t taken = 0;
    for (uint64_t at = (address & ~(uint64_t)(STEP - 1)) - AROUND; at < address + AROUND;
         at += STEP)
        if (mmap((void *)at, STEP, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                 0) == (void *)at)
            taken += STEP;
    return taken;
}

static void use(struct gpu *gpu, CUdeviceptr memory, const char *what)
{
    uint32_t n = 1024, five = 5, back[1024];

    CHECK(cuMemsetD32(memory, 7, n));
    launch(kernel(gpu, "add"), n / 256, 256, NULL, &memory, &five, &n);
    CHECK(cuMemcpyDtoH(back, memory, sizeof(back)));
    ok(back[0] == 12 && back[n - 1] == 12, "kernels and copies use %s", what);
}

// Frees memory in a stream that has not come to it yet.
static void freed_ahead(struct gpu *gpu, CUdeviceptr to, CUstream stream)
{
    uint32_t back[1024] = {0};
    CUdeviceptr memory;

    CHECK(cuMemAllocAsync(&memory, (size_t)48 << 20, stream));
    struct hold hold = hold_stream(gpu, stream);
    CHECK(cuMemsetD32Async(memory, 9, 1024, stream));
    CHECK(cuMemcpyDtoDAsync(to, memory, sizeof(back), stream));
    gives(cuMemFreeAsync(memory, stream), CUDA_SUCCESS, "memory is freed that a stream will use");
    hold_release(&hold);
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS, "the stream uses it all the same");
    CHECK(cuMemcpyDtoH(back, to, sizeof(back)));
    ok(back[0] == 9 && back[1023] == 9, "and it has held its bytes until then");
    CHECK(cuMemFree(hold.flag));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr first = device_alloc(STEP), memory, rows, base;
    size_t pitch, free_before, free_after, total, size;
    CUmemoryPool pool;
    char name[64];
    CUstream stream;

    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemGetInfo(&free_before, &total));
    ok(fill(first) > AROUND, "the program has memory of its own around the GPU's");
    for (int i = 0; i < 8; i++) {
        // More than is left of what the driver has at hand.
        gives(cuMemAlloc(&memory, (size_t)4096 << (2 * i)), CUDA_SUCCESS, "memory is allocated");
        if (i == 7)
            use(&gpu, memory, "large memory");
        CHECK(cuMemFree(memory));
    }
    gives(cuMemAlloc(&memory, free_before / 4 * 3), CUDA_SUCCESS,
          "and so is more than half of what there is");
    use(&gpu, memory, "that, too");
    CHECK(cuMemFree(memory));
    gives(cuMemAllocPitch(&rows, &pitch, 1000, 100, 4), CUDA_SUCCESS, "so are rows");
    use(&gpu, rows, "them");
    CHECK(cuMemGetAddressRange(&base, &size, rows + 5000));
    ok(base == rows && size >= pitch * 100, "their range is known");
    gives(cuMemFree(rows), CUDA_SUCCESS, "and freed");
    gives(cuMemcpyDtoH(&size, rows, sizeof(size)), CUDA_ERROR_INVALID_VALUE,
          "after which they are gone");
    gives(cuMemFree(rows), CUDA_ERROR_INVALID_VALUE, "and cannot be freed again");
    freed_ahead(&gpu, first, stream);
    gives(cuMemAllocAsync(&memory, (size_t)48 << 20, stream), CUDA_SUCCESS,
          "memory in a stream's order, too");
    CHECK(cuStreamSynchronize(stream));
    use(&gpu, memory, "it");
    gives(cuMemFreeAsync(memory, stream), CUDA_SUCCESS, "and freed there");
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuDeviceGetDefaultMemPool(&pool, gpu.device));
    CHECK(cuMemPoolTrimTo(pool, 0));
    CHECK(cuDeviceGetName(name, sizeof(name), gpu.device));
    // Other processes, such as the box's next worker, take memory of a real GPU meanwhile.
    bool alone = strstr(name, "software GPU");
    CHECK(cuCtxSynchronize()); // the library gives memory back if it knows that the GPU is idle
    for (int ms = 0; ms < 20000; ms++) { // a thread of the library frees it
        CHECK(cuMemGetInfo(&free_after, &total));
        if (!alone || free_after == free_before)
            break;
        usleep(1000);
    }
    if (alone)
        is_int(free_after, free_before, "all of it has been given back");
    CHECK(cuMemFree(first));
    close_gpu(&gpu);
    return done();
}

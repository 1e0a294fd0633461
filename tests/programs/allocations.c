// SPDX-License-Identifier: BSD-3-Clause
// Copies to and from many allocations, of any size and offset, and memory that is freed as soon as
// CUDA allows it. The code that moves the data may cache properties of an allocation, but only
// while the allocation exists.
#include "tests/programs/driver.h"

#define MANY 300
#define SIZE (160u << 10)
#define MOST (3u << 20)

static unsigned char *host, *back;

static void there_and_back(CUdeviceptr device, size_t size, CUstream stream, unsigned *wrong)
{
    memset(back, 0, size);
    CHECK(cuMemcpyHtoDAsync(device, host, size, stream));
    CHECK(cuMemcpyDtoHAsync(back, device, size, stream));
    CHECK(cuStreamSynchronize(stream));
    *wrong += memcmp(host, back, size) != 0;
}

static void many(CUstream stream)
{
    CUdeviceptr memory[MANY];
    unsigned wrong = 0;
    for (unsigned i = 0; i < MANY; i++) {
        memory[i] = device_alloc(SIZE);
        memset(host, (int)i, SIZE);
        CHECK(cuMemcpyHtoDAsync(memory[i], host, SIZE, stream));
        CHECK(cuStreamSynchronize(stream));
    }
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(cuMemcpyDtoHAsync(back, memory[i], SIZE, stream));
        CHECK(cuStreamSynchronize(stream));
        wrong += back[0] != (i & 255) || back[SIZE - 1] != (i & 255);
        CHECK(cuMemFree(memory[i]));
    }
    is_int(wrong, 0, "each of %u allocations has its own bytes", MANY);
}

static void any_place(CUstream stream)
{
    CUdeviceptr memory = device_alloc(MOST);
    unsigned wrong = 0;
    fill_random(host, MOST, 3);
    for (size_t size = 1; size < MOST / 2; size = size * 3 + 1)
        there_and_back(memory + size % 4099, size, stream, &wrong);
    there_and_back(memory, MOST, stream, &wrong);
    there_and_back(memory + 1, MOST - 1, stream, &wrong);
    is_int(wrong, 0, "copies of any size, from and to any place");
    CHECK(cuMemFree(memory));
}

// Memory is freed while a copy is in progress, and allocated again at once.
static void freed(CUstream stream)
{
    unsigned wrong = 0;
    for (unsigned round = 0; round < 20; round++) {
        CUdeviceptr memory = device_alloc(MOST);
        memset(host, (int)round, MOST);
        CHECK(cuMemcpyHtoDAsync(memory, host, MOST, stream));
        CHECK(cuMemcpyDtoHAsync(back, memory, MOST, stream));
        CHECK(cuMemFree(memory));
        CHECK(cuStreamSynchronize(stream));
        wrong += back[0] != round || back[MOST - 1] != round;
    }
    is_int(wrong, 0, "memory that is freed behind a copy");
}

// Later copies overwrite earlier ones.
static void overwritten(CUstream stream)
{
    CUdeviceptr memory = device_alloc(MOST);
    unsigned char *parts = host;
    unsigned wrong = 0;
    for (unsigned i = 0; i < 3; i++)
        memset(parts + i * (MOST / 3), 10 + (int)i, MOST / 3);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 3; i++)
            CHECK(cuMemcpyHtoDAsync(memory + i * 1000, parts + i * (MOST / 3), MOST / 3, stream));
        CHECK(cuMemcpyDtoHAsync(back, memory, MOST / 3, stream));
        CHECK(cuStreamSynchronize(stream));
        wrong += back[0] != 10 || back[999] != 10 || back[1000] != 11 || back[2000] != 12 ||
                 back[MOST / 3 - 1] != 12;
    }
    is_int(wrong, 0, "copies over one another end in their order");
    CHECK(cuMemFree(memory));
}

static void pooled(CUstream stream)
{
    unsigned wrong = 0;
    for (unsigned round = 0; round < 5; round++) {
        CUdeviceptr memory;
        CHECK(cuMemAllocAsync(&memory, MOST, stream));
        memset(host, 50 + (int)round, MOST);
        there_and_back(memory, MOST, stream, &wrong);
        CHECK(cuMemFreeAsync(memory, stream));
    }
    is_int(wrong, 0, "memory of a pool");
}

static void of_another_context(const struct gpu *gpu)
{
    CUcontext second;
    unsigned wrong = 0;
    for (unsigned round = 0; round < 3; round++) {
        CHECK(cuCtxCreate_v2(&second, 0, gpu->device));
        CUdeviceptr memory = device_alloc(MOST);
        fill_random(host, MOST, round);
        CHECK(cuMemcpyHtoD(memory, host, MOST));
        memset(back, 0, MOST);
        CHECK(cuMemcpyDtoH(back, memory, MOST));
        wrong += memcmp(host, back, MOST) != 0;
        CHECK(cuCtxDestroy(second));
    }
    is_int(wrong, 0, "memory that goes with its context");
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&host, MOST));
    CHECK(cuMemAllocHost((void **)&back, MOST));
    many(stream);
    any_place(stream);
    freed(stream);
    overwritten(stream);
    pooled(stream);
    of_another_context(&gpu);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFreeHost(host));
    CHECK(cuMemFreeHost(back));
    close_gpu(&gpu);
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Managed memory: the GPU sees the host's writes at the next launch, and the host sees the GPU's
// writes after a synchronization.
#include "tests/programs/driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 300 * 1000 };

static struct gpu gpu;

static uint32_t *managed(size_t size)
{
    CUdeviceptr address;
    CHECK(cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL));
    return (uint32_t *)(uintptr_t)address;
}

static void release(void *memory)
{
    CHECK(cuMemFree((CUdeviceptr)(uintptr_t)memory));
}

static void add_to(uint32_t *words, uint32_t value, uint32_t count, CUstream stream)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words;
    launch(kernel(&gpu, "add"), 4, 64, stream, &address, &value, &count);
}

static size_t count_wrong(const uint32_t *words, size_t count, uint32_t first, uint32_t step)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += words[i] != first + (uint32_t)i * step;
    return wrong;
}

static void both_sides_write(void)
{
    uint32_t *words = managed(WORDS * 4);
    is_int(count_wrong(words, WORDS, 0, 0), 0, "fresh memory is zeros to the host");
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i;
    add_to(words, 7, WORDS, NULL);
    CHECK(cuCtxSynchronize());
    is_int(count_wrong(words, WORDS, 7, 1), 0,
           "the GPU saw what the host wrote, and the host the sum");
    add_to(words, 1, WORDS, NULL);
    add_to(words, 1, WORDS, NULL);
    CHECK(cuCtxSynchronize());
    is_int(count_wrong(words, WORDS, 9, 1), 0, "two launches without a look between them");
    words[WORDS / 2] = 1000;
    add_to(words, 5, WORDS / 4, NULL);
    CHECK(cuStreamSynchronize(NULL));
    ok(words[WORDS / 2] == 1000 && words[0] == 14 && words[WORDS / 4] == WORDS / 4 + 9,
       "what the GPU left alone is as the host wrote it");
    release(words);
}

static void fresh_for_the_gpu(void)
{
    uint32_t *words = managed(WORDS * 4);
    add_to(words, 3, WORDS, NULL);
    CHECK(cuCtxSynchronize());
    is_int(count_wrong(words, WORDS, 3, 0), 0, "fresh memory is zeros to the GPU");
    release(words);
}

// Checks that new memory at the same address has no old contents, whether the host or the GPU reads
// first.
static void fresh_again(void)
{
    for (int round = 0; round < 3; round++) {
        uint32_t *words = managed(WORDS * 4), *copy = must_alloc(WORDS * 4);
        CUdeviceptr address = (CUdeviceptr)(uintptr_t)words;
        size_t seen = round == 1 ? count_wrong(words, WORDS, 0, 0) : 0;
        if (round == 2)
            words[WORDS / 2] = 0;
        CHECK(cuMemcpyDtoH(copy, address, WORDS * 4));
        is_int((int64_t)(seen + count_wrong(copy, WORDS, 0, 0)), 0,
               "memory that had contents is zeros%s",
               round == 0   ? ""
               : round == 1 ? ", once the host has read it"
                            : ", once the host has written to it");
        CHECK(cuMemsetD8(address, 0x55, WORDS * 4));
        CHECK(cuCtxSynchronize());
        release(words);
        free(copy);
    }
}

static void copies(void)
{
    enum { SIZE = 200000 };
    uint32_t *words = managed(SIZE);
    uint32_t *plain = must_alloc(SIZE), *back = must_alloc(SIZE);
    CUdeviceptr device = device_alloc(SIZE), address = (CUdeviceptr)(uintptr_t)words;
    fill_random(plain, SIZE, 5);
    CHECK(cuMemcpyHtoD(address, plain, SIZE));
    ok(!memcmp(words, plain, SIZE), "a copy from the host to managed memory is seen by the host");
    fill_random(words, SIZE, 6);
    fill_random(plain, SIZE, 6);
    CHECK(cuMemcpyHtoD(device, words, SIZE));
    CHECK(cuMemcpyDtoH(back, device, SIZE));
    ok(!memcmp(back, plain, SIZE), "managed memory is the source of a copy to the GPU");
    memset(words, 0, SIZE);
    CHECK(cuMemcpyDtoH(words, device, SIZE));
    ok(!memcmp(words, plain, SIZE), "and the destination of one from it");
    memset(words, 1, SIZE);
    CHECK(cuMemcpyDtoH(back, address, SIZE));
    ok(!memcmp(words, back, SIZE), "a copy from managed memory has what the host wrote");
    CHECK(cuMemsetD8(address, 9, SIZE / 2));
    CHECK(cuCtxSynchronize());
    ok(((unsigned char *)words)[SIZE / 2 - 1] == 9 && ((unsigned char *)words)[SIZE / 2] == 1,
       "filling a part leaves the rest");
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = words,
                          .srcPitch = 100,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = 50,
                          .WidthInBytes = 50,
                          .Height = 1000};
    CHECK(cuMemcpy2D(&rows));
    ok(((unsigned char *)back)[49999] == 9, "rows of managed memory that is called the host's");
    CHECK(cuMemcpy(address + SIZE / 2, address, SIZE / 2));
    ok(((unsigned char *)words)[SIZE - 1] == 9, "a copy within managed memory");
    CHECK(cuMemFree(device));
    release(words);
    free(plain);
    free(back);
}

struct writer {
    uint32_t *words;
    uint32_t first;
};

static void *write_part(void *argument)
{
    struct writer *writer = argument;
    for (uint32_t i = writer->first; i < WORDS; i += 4)
        writer->words[i] = i;
    return NULL;
}

static void threads_write(void)
{
    uint32_t *words = managed(WORDS * 4);
    struct writer writers[4];
    pthread_t threads[4];
    for (uint32_t i = 0; i < 4; i++) {
        writers[i] = (struct writer){words, i};
        pthread_create(&threads[i], NULL, write_part, &writers[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    add_to(words, 1, WORDS, NULL);
    CHECK(cuCtxSynchronize());
    is_int(count_wrong(words, WORDS, 1, 1), 0, "four threads write words next to each other");
    release(words);
}

static void streams(void)
{
    CUstream a, b;
    uint32_t *x = managed(WORDS * 4), *y = managed(WORDS * 4);
    CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamAttachMemAsync(a, (CUdeviceptr)(uintptr_t)x, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamAttachMemAsync(b, (CUdeviceptr)(uintptr_t)y, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamSynchronize(a));
    CHECK(cuStreamSynchronize(b));
    for (uint32_t i = 0; i < WORDS; i++)
        x[i] = i;
    struct hold hold = hold_stream(&gpu, a);
    for (uint32_t i = 0; i < WORDS; i++)
        y[i] = 2 * i;
    add_to(y, 1, WORDS, b);
    CHECK(cuStreamSynchronize(b));
    is_int(count_wrong(y, WORDS, 1, 2), 0,
           "memory of one stream is used while the other one works");
    hold_release(&hold);
    add_to(x, 1, WORDS, a);
    CHECK(cuStreamSynchronize(a));
    is_int(count_wrong(x, WORDS, 1, 1), 0, "and that of the other one after it");
    release(x);
    release(y);
    CHECK(cuStreamDestroy(a));
    CHECK(cuStreamDestroy(b));
}

// A driver does so; freeing anything waits for the GPU.
static void allocated_while_a_stream_waits(void)
{
    enum { PIECES = 8 };
    CUdeviceptr odd[PIECES];
    uint32_t *pieces[PIECES];
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    struct hold hold = hold_stream(&gpu, stream);
    for (size_t i = 0; i < PIECES; i++) {
        CHECK(cuMemAlloc(&odd[i], 512));
        pieces[i] = managed(500000 + 200000 * i);
    }
    hold_release(&hold);
    CHECK(cuStreamSynchronize(stream));
    ok(true, "managed memory is had while a stream waits for the host");
    for (int i = 0; i < PIECES; i++) {
        release(pieces[i]);
        CHECK(cuMemFree(odd[i]));
    }
    CHECK(cuStreamDestroy(stream));
}

static int asked(CUmem_range_attribute attribute, CUdeviceptr address, size_t size)
{
    int value = 77;
    CHECK(cuMemRangeGetAttribute(&value, sizeof(value), attribute, address, size));
    return value;
}

static void advice(void)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)managed(4 << 20);
    size_t half = 2 << 20;
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_HOST};
    CUmemLocation there = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu.device};
    uint32_t *words = (uint32_t *)(uintptr_t)address;
    ok(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 2 * half) == 0 &&
           asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, address, 2 * half) == -2 &&
           asked(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, 2 * half) == -2,
       "fresh memory has no advice");
    CHECK(cuMemAdvise_v2(address, half, CU_MEM_ADVISE_SET_READ_MOSTLY, there));
    CHECK(cuMemAdvise_v2(address, 2 * half, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, there));
    ok(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, half) == 1 &&
           asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 2 * half) == 0 &&
           asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, address, 2 * half) == gpu.device,
       "advice is told of a range that all has it");
    CHECK(cuMemAdvise_v2(address, half, CU_MEM_ADVISE_UNSET_READ_MOSTLY, there));
    ok(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, half) == 0, "and taken back");
    for (size_t i = 0; i < half / 2; i++)
        words[i] = (uint32_t)i;
    CHECK(cuMemPrefetchAsync_v2(address, 2 * half, there, 0, NULL));
    add_to(words, 1, (uint32_t)(half / 2), NULL);
    CHECK(cuMemPrefetchAsync_v2(address, 2 * half, here, 0, NULL));
    CHECK(cuCtxSynchronize());
    is_int(count_wrong(words, half / 2, 1, 1), 0, "contents survive prefetches");
    is_int(asked(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, 2 * half), -1,
           "the last one is told");
    gives(cuMemAdvise_v2(address, 3 * half, CU_MEM_ADVISE_SET_READ_MOSTLY, there),
          CUDA_ERROR_INVALID_VALUE, "advice beyond the allocation");
    release(words);
}

// Small pieces share pages, which go with their context.
static void after_a_reset(void)
{
    enum { PIECES = 600, PIECE = 700 };
    uint32_t *pieces[PIECES];
    size_t wrong = 0;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < PIECES; i++) {
            pieces[i] = managed(PIECE * 4);
            for (uint32_t k = 0; k < PIECE; k++)
                pieces[i][k] = i;
        }
        for (int i = 0; i < PIECES; i++)
            add_to(pieces[i], 1, PIECE, NULL);
        CHECK(cuCtxSynchronize());
        for (uint32_t i = 0; i < PIECES; i++)
            wrong += count_wrong(pieces[i], PIECE, i + 1, 0);
        CHECK(cuDevicePrimaryCtxReset(gpu.device));
        gpu = open_gpu(0);
    }
    is_int(wrong, 0, "small pieces of two lives of a context");
}

static void answers(void)
{
    CUdeviceptr address, base;
    size_t size;
    unsigned int type = 0, is_managed = 0;
    void *host = NULL;
    ok(device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) == 1,
       "the device has managed memory");
    CHECK(cuMemAllocManaged(&address, 5000, CU_MEM_ATTACH_HOST));
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 7));
    CHECK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address + 7));
    CHECK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address + 7));
    CHECK(cuMemGetAddressRange(&base, &size, address + 7));
    ok(type == CU_MEMORYTYPE_DEVICE && is_managed == 1 && host == (void *)(uintptr_t)(address + 7),
       "its pointers are a device's, managed, and the host's");
    ok(base == address && size == 5000, "and of an allocation as large as was asked for");
    gives(cuMemFree(address + 512), CUDA_ERROR_INVALID_VALUE, "a part of it cannot be freed");
    CHECK(cuMemFree(address));
    gives(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE,
          "no bytes");
    gives(cuMemAllocManaged(&address, 5, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE,
          "a way to attach that an allocation does not take");
    gives(cuMemAllocManaged(NULL, 5, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE,
          "nowhere to put the address");
}

int main(void)
{
    gpu = open_gpu(0);
    both_sides_write();
    fresh_for_the_gpu();
    fresh_again();
    copies();
    threads_write();
    streams();
    allocated_while_a_stream_waits();
    advice();
    answers();
    after_a_reset();
    close_gpu(&gpu);
    return done();
}

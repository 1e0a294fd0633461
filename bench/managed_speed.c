// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of managed memory, natively or through a box. Prints one line for each case.
//
//   managed_speed [MEBIBYTES]    size of the large cases (256)
#include "tests/programs/driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct gpu gpu;
static CUfunction add;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t *managed(size_t size)
{
    CUdeviceptr address;
    CHECK(cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL));
    return (uint32_t *)(uintptr_t)address;
}

static void work(void *memory, size_t size)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)memory;
    uint32_t one = 1, count = (uint32_t)(size / 4);
    launch(add, 2048, 256, NULL, &address, &one, &count);
}

static double timed_work(void *memory, size_t size, int times)
{
    CHECK(cuCtxSynchronize());
    double began = now();
    for (int i = 0; i < times; i++)
        work(memory, size);
    CHECK(cuCtxSynchronize());
    return (now() - began) / times;
}

static uint64_t sum(const uint32_t *words, size_t size)
{
    uint64_t total = 0;
    for (size_t i = 0; i < size / 4; i++)
        total += words[i];
    return total;
}

static void kernels(size_t size)
{
    uint32_t *words = managed(size);
    CUdeviceptr plain = device_alloc(size);
    memset(words, 1, size);
    timed_work(words, size, 2);
    double here = timed_work(words, size, 50);
    timed_work((void *)(uintptr_t)plain, size, 2);
    double there = timed_work((void *)(uintptr_t)plain, size, 50);
    printf("kernels managed_us=%.1f plain_us=%.1f\n", here * 1e6, there * 1e6);
    CHECK(cuMemFree((CUdeviceptr)(uintptr_t)words));
    CHECK(cuMemFree(plain));
}

// Reads a byte of each page in order, which measures the transfer without the program's own
// reading.
static uint64_t touch(const uint32_t *words, size_t size)
{
    uint64_t total = 0;
    for (size_t i = 0; i < size; i += 4096)
        total += ((const volatile uint8_t *)words)[i];
    return total;
}

static double timed_read(uint64_t (*read)(const uint32_t *, size_t), uint32_t *words, size_t size,
                         uint64_t *total)
{
    work(words, size);
    CHECK(cuCtxSynchronize());
    double began = now();
    *total += read(words, size);
    return now() - began;
}

// Measures how the program reads results of the GPU: all words, or a byte of each page. Compares
// with a copy to ordinary memory and reading it there.
static void host_reads(size_t size)
{
    uint32_t *words = managed(size), *copy = must_alloc(size);
    CUdeviceptr plain = device_alloc(size);
    memset(copy, 0, size);
    for (int round = 0; round < 4; round++) {
        uint64_t total = 0;
        double reading = timed_read(sum, words, size, &total);
        double touching = timed_read(touch, words, size, &total);
        double began = now();
        CHECK(cuMemcpyDtoH(copy, plain, size));
        double copying = now() - began;
        began = now();
        total += sum(copy, size);
        double again = now() - began;
        printf("host_reads round=%d managed_gbs=%.2f touched_gbs=%.2f copy_gbs=%.2f "
               "read_gbs=%.2f copy_and_read_gbs=%.2f sum=%llu\n",
               round, (double)size / reading / 1e9, (double)size / touching / 1e9,
               (double)size / copying / 1e9, (double)size / again / 1e9,
               (double)size / (copying + again) / 1e9, (unsigned long long)total);
    }
    CHECK(cuMemFree((CUdeviceptr)(uintptr_t)words));
    CHECK(cuMemFree(plain));
    free(copy);
}

static void phases(size_t size)
{
    uint32_t *words = managed(size);
    memset(words, 0, size);
    work(words, size);
    CHECK(cuCtxSynchronize());
    for (int round = 0; round < 4; round++) {
        double began = now();
        for (size_t i = 0; i < size / 4; i++)
            words[i] += 3;
        double middle = now();
        work(words, size);
        CHECK(cuCtxSynchronize());
        printf("phases round=%d host_ms=%.2f gpu_ms=%.2f\n", round, (middle - began) * 1e3,
               (now() - middle) * 1e3);
    }
    printf("phases last=%u want=%u\n", words[size / 4 - 1], 4 * 3 + 5);
    CHECK(cuMemFree((CUdeviceptr)(uintptr_t)words));
}

static double launch_ns(void)
{
    CUfunction empty = kernel(&gpu, "empty");
    enum { COUNT = 20000 };
    double best = 1;
    for (int round = 0; round < 5; round++) {
        CHECK(cuCtxSynchronize());
        double began = now();
        for (int i = 0; i < COUNT; i++)
            CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        double took = (now() - began) / COUNT;
        best = took < best ? took : best;
    }
    CHECK(cuCtxSynchronize());
    return best * 1e9;
}

static void untouched(double before)
{
    double began = now();
    uint32_t *words = managed((size_t)1 << 30);
    double allocated = now() - began;
    double with = launch_ns();
    words[12345] = 1;
    work(words, 4096);
    CHECK(cuCtxSynchronize());
    double used = launch_ns();
    began = now();
    CHECK(cuMemFree((CUdeviceptr)(uintptr_t)words));
    printf(
        "untouched_gib allocate_ms=%.2f free_ms=%.2f launch_ns_without=%.0f with=%.0f used=%.0f\n",
        allocated * 1e3, (now() - began) * 1e3, before, with, used);
}

int main(int argc, char **argv)
{
    size_t size = (argc > 1 ? strtoull(argv[1], NULL, 0) : 256) << 20;
    gpu = open_gpu(0);
    add = kernel(&gpu, "add");
    double before = launch_ns();
    kernels(size);
    host_reads(size);
    phases((size_t)64 << 20);
    untouched(before);
    close_gpu(&gpu);
    return 0;
}

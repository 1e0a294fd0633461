// SPDX-License-Identifier: BSD-3-Clause
// Measures page-locked memory by size, through the libcuda.so.1 it is started with: allocation,
// filling, the first copy from it, and freeing; and, in several ways each, the steps by which a box
// provides it. Prints one JSON line per figure, in milliseconds, or the reason why a figure is
// missing.
//
//   pinned             page-locked memory of the driver
//   pinned --parts     files that are mapped, touched and registered; native only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/driver.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { ROUNDS = 5, TOUCHERS = 4 };
static const size_t sizes[] = {64 << 10, 2 << 20, 16 << 20, 64 << 20, 256 << 20};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void figure(const char *name, size_t size, int round, double value)
{
    printf(
        "{\"figure\": \"%s\", \"bytes\": %zu, \"round\": %d, \"value\": %.4f, \"unit\": \"ms\"}\n",
        name, size, round, value);
    fflush(stdout);
}

static void not_to_be_had(const char *name, size_t size, const char *why)
{
    printf("{\"figure\": \"%s\", \"bytes\": %zu, \"error\": \"%s\"}\n", name, size, why);
    fflush(stdout);
}

// ---- the driver's ----

static void measure_driver(size_t size, int round, CUdeviceptr device)
{
    void *host;
    double start = now();
    CHECK(cuMemHostAlloc(&host, size, 0));
    figure("allocate", size, round, now() - start);
    start = now();
    memset(host, 1, size);
    figure("fill", size, round, now() - start);
    for (int copy = 0; copy < 2; copy++) {
        start = now();
        CHECK(cuMemcpyHtoDAsync(device, host, size, NULL));
        CHECK(cuStreamSynchronize(NULL));
        figure(copy ? "second copy" : "first copy", size, round, now() - start);
    }
    start = now();
    CHECK(cuMemFreeHost(host));
    figure("free", size, round, now() - start);
}

// ---- the box's steps ----

struct way {
    const char *name;
    unsigned int file_flags; // of memfd_create; ~0u: private memory
    int advice;              // madvise; 0: none
    int touchers;            // threads that fault its pages in; 0: none
};

static const struct way ways[] = {
    {"file", MFD_CLOEXEC, 0, 0},
    {"file, touched", MFD_CLOEXEC, 0, 1},
    {"file, touched by four", MFD_CLOEXEC, 0, TOUCHERS},
    {"file, huge by advice, touched", MFD_CLOEXEC, MADV_HUGEPAGE, 1},
    {"file, huge by advice, touched by four", MFD_CLOEXEC, MADV_HUGEPAGE, TOUCHERS},
    {"huge file, touched", MFD_CLOEXEC | MFD_HUGETLB, 0, 1},
    {"private", ~0u, 0, 0},
    {"private, huge by advice, touched", ~0u, MADV_HUGEPAGE, 1},
};

struct piece {
    char *at;
    size_t size;
};

static void *touch(void *argument)
{
    const struct piece *piece = argument;
    if (madvise(piece->at, piece->size, MADV_POPULATE_WRITE))
        for (size_t i = 0; i < piece->size; i += 4096)
            ((volatile char *)piece->at)[i] = 0;
    return NULL;
}

static void touch_all(char *memory, size_t size, int touchers)
{
    pthread_t threads[TOUCHERS];
    struct piece pieces[TOUCHERS];
    for (int i = 0; i < touchers; i++) {
        pieces[i] =
            (struct piece){memory + size / (size_t)touchers * (size_t)i, size / (size_t)touchers};
        if (pthread_create(&threads[i], NULL, touch, &pieces[i]))
            bail("no thread");
    }
    for (int i = 0; i < touchers; i++)
        pthread_join(threads[i], NULL);
}

static char *map(const struct way *way, size_t size)
{
    int kind = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
    if (way->file_flags != ~0u) {
        fd = memfd_create("pinned", way->file_flags);
        kind = MAP_SHARED;
        if (fd < 0 || ftruncate(fd, (off_t)size))
            return MAP_FAILED;
    }
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, kind, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory != MAP_FAILED && way->advice)
        madvise(memory, size, way->advice);
    return memory;
}

static void measure_way(const struct way *way, size_t size, int round, CUdeviceptr device)
{
    char name[96];
    double start = now();
    char *memory = map(way, size);
    if (memory == MAP_FAILED) {
        not_to_be_had(way->name, size, strerror(errno));
        return;
    }
    if (way->touchers)
        touch_all(memory, size, way->touchers);
    snprintf(name, sizeof(name), "%s: map and touch", way->name);
    figure(name, size, round, now() - start);
    start = now();
    CUresult result =
        cuMemHostRegister(memory, size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    snprintf(name, sizeof(name), "%s: register", way->name);
    if (result != CUDA_SUCCESS) {
        not_to_be_had(name, size, "refused");
        munmap(memory, size);
        return;
    }
    figure(name, size, round, now() - start);
    start = now();
    CHECK(cuMemcpyHtoDAsync(device, memory, size, NULL));
    CHECK(cuStreamSynchronize(NULL));
    snprintf(name, sizeof(name), "%s: first copy", way->name);
    figure(name, size, round, now() - start);
    start = now();
    CHECK(cuMemHostUnregister(memory));
    snprintf(name, sizeof(name), "%s: unregister", way->name);
    figure(name, size, round, now() - start);
    start = now();
    munmap(memory, size);
    snprintf(name, sizeof(name), "%s: unmap", way->name);
    figure(name, size, round, now() - start);
}

int main(int argc, char **argv)
{
    bool parts = argc > 1 && !strcmp(argv[1], "--parts");
    size_t count = sizeof(sizes) / sizeof(*sizes);
    struct gpu gpu = open_gpu(0);
    CUdeviceptr device = device_alloc(sizes[count - 1]);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i++) {
            if (!parts)
                measure_driver(sizes[i], round, device);
            for (size_t w = 0; parts && w < sizeof(ways) / sizeof(*ways); w++)
                measure_way(&ways[w], sizes[i], round, device);
        }
    CHECK(cuMemFree(device));
    close_gpu(&gpu);
    return 0;
}

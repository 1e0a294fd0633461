// SPDX-License-Identifier: BSD-3-Clause
// Measures copies by use, pattern and size, through the libcuda.so.1 it is started with. Prints one
// JSON line per figure, in microseconds per copy. bench/paths.py starts it with each path forced
// and with none.
//
//   path-times [COPIES]    number of copies of each kind (100); the first are those of a new
//                          host
#include <stdlib.h>
#include <time.h>

#include "tests/programs/driver.h"

enum { LARGEST = 4 << 20, ROW = 16, COPIES_MOST = 1000, BYTES_MOST = 64 << 20 };

static CUdeviceptr device;
static uint8_t *ordinary, *locked;
static CUstream stream;
static unsigned copies = 100;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

// Makes COUNT copies and waits once. Returns the microseconds per copy.
static double measure(bool to, bool lock, size_t size, unsigned count)
{
    uint8_t *host = lock ? locked : ordinary;
    double began = now_us();

    for (unsigned i = 0; i < count; i++)
        CHECK(to                  ? cuMemcpyHtoDAsync(device, host, size, stream)
              : count > 1 || lock ? cuMemcpyDtoHAsync(host, device, size, stream)
                                  : cuMemcpyDtoH(host, device, size));
    CHECK(cuStreamSynchronize(stream));
    return (now_us() - began) / count;
}

static void figure(bool to, bool lock, size_t size, bool row)
{
    static double times[COPIES_MOST];
    unsigned count = row ? ROW : 1, most = (unsigned)(BYTES_MOST / (size * count));
    unsigned rounds = copies < most ? copies : most ? most : 1;
    double sum = 0;

    for (unsigned i = 0; i < rounds; i++)
        sum += times[i] = measure(to, lock, size, count);
    double first = sum / rounds;
    qsort(times, rounds, sizeof(*times), compare);
    printf(
        "{\"use\": \"%s%s\", \"pattern\": \"%s\", \"bytes\": %zu, \"median\": %.3f, \"mean\": %.3f}\n",
        to ? "to" : "from", lock ? ", page-locked" : "", row ? "bandwidth" : "latency", size,
        times[rounds / 2], first);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        copies = (unsigned)atoi(argv[1]);
    if (!copies || copies > COPIES_MOST)
        bail("copies are 1 to %d", COPIES_MOST);
    open_gpu(0);
    CHECK(cuMemAlloc(&device, LARGEST));
    CHECK(cuMemHostAlloc((void **)&locked, LARGEST, 0));
    CHECK(cuStreamCreate(&stream, 0));
    ordinary = malloc(LARGEST);
    if (!ordinary)
        bail("no memory");
    memset(ordinary, 1, LARGEST);
    memset(locked, 1, LARGEST);
    CHECK(cuStreamSynchronize(stream));
    for (size_t size = 16; size <= LARGEST; size *= 4)
        for (unsigned kind = 0; kind < 8; kind++)
            figure(kind & 1, kind & 2, size, kind & 4);
    return 0;
}

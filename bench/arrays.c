// SPDX-License-Identifier: BSD-3-Clause
// Measures copies from and to arrays and, in turns, linear copies of the same size, through the
// libcuda.so.1 it is started with. Their ratio is the cost of arrays. Prints one JSON line per
// figure.
//
//   arrays ROUNDS MIB   the best of ROUNDS for rows of 4 KiB, MIB in all; small copies;
//                       array creation
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/programs/array_calls.h"

enum { ROW = 4096 };

static CUdeviceptr linear;
static CUarray array;
static size_t rows;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double copy_linear(bool to_device, void *host)
{
    double start = now();
    CHECK(to_device ? cuMemcpyHtoD(linear, host, rows * ROW)
                    : cuMemcpyDtoH(host, linear, rows * ROW));
    return now() - start;
}

static double copy_rows(bool to_device, void *host, size_t height)
{
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = host,
                        .srcPitch = ROW,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = ROW,
                        .Height = height};
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                         .srcArray = array,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = host,
                         .dstPitch = ROW,
                         .WidthInBytes = ROW,
                         .Height = height};
    double start = now();
    CHECK(cuMemcpy2D(to_device ? &in : &out));
    return now() - start;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void measure(unsigned rounds, bool pinned)
{
    size_t size = rows * ROW;
    void *host = NULL;
    if (pinned)
        CHECK(cuMemAllocHost(&host, size));
    else
        host = must_alloc(size);
    memset(host, 1, size);
    for (int to_device = 1; to_device >= 0; to_device--) {
        double plain = copy_linear(to_device, host), rect = copy_rows(to_device, host, rows);
        for (unsigned i = 0; i < rounds; i++) {
            plain = least(plain, copy_linear(to_device, host));
            rect = least(rect, copy_rows(to_device, host, rows));
        }
        const char *kind = pinned ? "pinned" : "pageable", *way = to_device ? "to" : "from";
        printf("{\"figure\": \"%s %s memory\", \"value\": %.2f, \"unit\": \"MB/s\"}\n", kind, way,
               (double)size / plain / 1e6);
        printf("{\"figure\": \"%s %s array\", \"value\": %.2f, \"unit\": \"MB/s\"}\n", kind, way,
               (double)size / rect / 1e6);
        printf("{\"figure\": \"%s %s array against memory\", \"value\": %.3f, \"unit\": \"\"}\n",
               kind, way, plain / rect);
    }
    if (pinned)
        CHECK(cuMemFreeHost(host));
    else
        free(host);
}

static void measure_small(unsigned rounds)
{
    static unsigned char row[ROW];
    double in = 1, out = 1, plain_in = 1, plain_out = 1, make = 1;
    for (unsigned i = 0; i < rounds; i++) {
        double start = now();
        CHECK(cuMemcpyHtoD(linear, row, ROW));
        plain_in = least(plain_in, now() - start);
        start = now();
        CHECK(cuMemcpyDtoH(row, linear, ROW));
        plain_out = least(plain_out, now() - start);
        in = least(in, copy_rows(true, row, 1));
        out = least(out, copy_rows(false, row, 1));
        start = now();
        CHECK(cuArrayDestroy(make_array(64, 64, 0, CU_AD_FORMAT_FLOAT, 4, 0)));
        make = least(make, now() - start);
    }
    printf("{\"figure\": \"row to memory\", \"value\": %.2f, \"unit\": \"us\"}\n", plain_in * 1e6);
    printf("{\"figure\": \"row to array\", \"value\": %.2f, \"unit\": \"us\"}\n", in * 1e6);
    printf("{\"figure\": \"row from memory\", \"value\": %.2f, \"unit\": \"us\"}\n",
           plain_out * 1e6);
    printf("{\"figure\": \"row from array\", \"value\": %.2f, \"unit\": \"us\"}\n", out * 1e6);
    printf("{\"figure\": \"array made and ended\", \"value\": %.2f, \"unit\": \"us\"}\n",
           make * 1e6);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    unsigned rounds = (unsigned)atoi(argv[1]);
    struct gpu gpu = open_gpu(0);
    rows = strtoull(argv[2], NULL, 10) * ((1 << 20) / ROW);
    linear = device_alloc(rows * ROW);
    array = make_array(ROW / 4, rows, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    measure(rounds, true);
    measure(rounds, false);
    measure_small(20 * rounds);
    CHECK(cuArrayDestroy(array));
    CHECK(cuMemFree(linear));
    close_gpu(&gpu);
    return 0;
}

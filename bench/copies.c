// SPDX-License-Identifier: BSD-3-Clause
// Measures copies of given sizes from and to pinned and pageable memory, small copies and an empty
// launch, through the libcuda.so.1 it is started with. Prints one JSON line per figure; bench/rdma
// compares.
//
//   copies ROUNDS [--warm N] [--pinned] [--to | --from] [--for SECONDS] SIZE...
//              the best of ROUNDS for each size, in MB/s, after N pinned copies of 16 MiB
//              in each direction; --pinned: pinned memory only; --to, --from: one direction
//              only; --for: instead the rate of consecutive copies for that time
//   copies ROUNDS --small   a copy of 64 B in either direction and a launch with its
//              synchronization: median, tenth, ninetieth and 99th percentile in us
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/programs/driver.h"

enum { SMALL_ROUNDS = 4000, WARM_SIZE = 16 << 20 };

static CUstream stream;
static double period;                    // seconds; 0: the best of the rounds counts
static bool directions[] = {true, true}; // from, to the device

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double copy_once(bool pinned, bool to_device, CUdeviceptr device, void *host, size_t size)
{
    double start = now();
    if (pinned) {
        CHECK(to_device ? cuMemcpyHtoDAsync(device, host, size, stream)
                        : cuMemcpyDtoHAsync(host, device, size, stream));
        CHECK(cuStreamSynchronize(stream));
    } else {
        CHECK(to_device ? cuMemcpyHtoD(device, host, size) : cuMemcpyDtoH(host, device, size));
    }
    return now() - start;
}

static void warm_up(unsigned copies)
{
    CUdeviceptr device = device_alloc(WARM_SIZE);
    void *host;
    CHECK(cuMemAllocHost(&host, WARM_SIZE));
    memset(host, 1, WARM_SIZE);
    for (unsigned i = 0; i < copies; i++) {
        copy_once(true, true, device, host, WARM_SIZE);
        copy_once(true, false, device, host, WARM_SIZE);
    }
    CHECK(cuMemFreeHost(host));
    CHECK(cuMemFree(device));
}

// Returns the seconds of a copy, after a first copy that does not count.
static double seconds_each(unsigned rounds, bool pinned, bool to_device, CUdeviceptr device,
                           void *host, size_t size)
{
    double best = copy_once(pinned, to_device, device, host, size), all = 0;
    unsigned count = 0;
    for (; count < rounds || all < period; count++) {
        double took = copy_once(pinned, to_device, device, host, size);
        best = took < best ? took : best;
        all += took;
    }
    return period > 0 ? all / count : best;
}

static void measure_size(unsigned rounds, size_t size, bool pinned_only)
{
    CUdeviceptr device = device_alloc(size);
    for (int pinned = 1; pinned >= (pinned_only ? 1 : 0); pinned--) {
        void *host = NULL;
        if (pinned)
            CHECK(cuMemAllocHost(&host, size));
        else
            host = malloc(size);
        memset(host, 1, size);
        for (int to_device = 1; to_device >= 0; to_device--) {
            if (!directions[to_device])
                continue;
            double each = seconds_each(rounds, pinned, to_device, device, host, size);
            printf("{\"figure\": \"%s %s %zu\", \"value\": %.2f, \"unit\": \"MB/s\"}\n",
                   pinned ? "pinned" : "pageable", to_device ? "to" : "from", size,
                   (double)size / each / 1e6);
            fflush(stdout);
        }
        if (pinned)
            CHECK(cuMemFreeHost(host));
        else
            free(host);
    }
    CHECK(cuMemFree(device));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Prints the median, and the tenth, ninetieth and 99th percentile.
static void print_spread(const char *name, const double *sorted, unsigned count)
{
    static const char *const parts[] = {"", " least", " most", " p99"};
    const unsigned at[] = {count / 2, count / 10, count - 1 - count / 10, count - 1 - count / 100};

    for (int i = 0; i < 4; i++)
        printf("{\"figure\": \"%s%s\", \"value\": %.2f, \"unit\": \"us\"}\n", name, parts[i],
               sorted[at[i]] * 1e6);
}

static void measure_small(unsigned rounds, CUfunction empty)
{
    static const char *const names[] = {"copy 64 to", "copy 64 from", "launch and synchronize"};
    static double samples[SMALL_ROUNDS];
    CUdeviceptr device = device_alloc(64);
    char word[64] = "";
    if (rounds > SMALL_ROUNDS)
        rounds = SMALL_ROUNDS;
    for (int kind = 0; kind < 3; kind++) {
        for (unsigned i = 0; i < rounds; i++) {
            double start = now();
            if (kind == 0) {
                CHECK(cuMemcpyHtoD(device, word, sizeof(word)));
                CHECK(cuStreamSynchronize(NULL));
            } else if (kind == 1) {
                CHECK(cuMemcpyDtoH(word, device, sizeof(word)));
            } else {
                CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
                CHECK(cuStreamSynchronize(stream));
            }
            samples[i] = now() - start;
        }
        qsort(samples, rounds, sizeof(*samples), by_value);
        print_spread(names[kind], samples, rounds);
    }
    CHECK(cuMemFree(device));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    unsigned rounds = (unsigned)atoi(argv[1]);
    struct gpu gpu = open_gpu(0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    bool pinned_only = false;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--small"))
            measure_small(rounds, kernel(&gpu, "empty"));
        else if (!strcmp(argv[i], "--pinned"))
            pinned_only = true;
        else if (!strcmp(argv[i], "--to"))
            directions[false] = false;
        else if (!strcmp(argv[i], "--from"))
            directions[true] = false;
        else if (!strcmp(argv[i], "--warm") && i + 1 < argc)
            warm_up((unsigned)atoi(argv[++i]));
        else if (!strcmp(argv[i], "--for") && i + 1 < argc)
            period = atof(argv[++i]);
        else
            measure_size(rounds, strtoull(argv[i], NULL, 10), pinned_only);
    }
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return 0;
}

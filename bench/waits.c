// SPDX-License-Identifier: BSD-3-Clause
// Measures how long it takes to learn that small GPU work is done, for each way to wait. Prints one
// JSON line for each work and way, in microseconds from before the submission. A session over
// shared memory ends its waits with a word that the GPU writes and the program polls
// (docs/reference/protocol.md), so that way is its native limit.
//
//   waits [--rounds N]    medians over N rounds (9) of 500
#include <stdlib.h>
#include <time.h>

#include "tests/programs/driver.h"

enum { REPEATS = 500, ROUNDS_MOST = 100 };

static CUstream stream;
static CUevent event;
static CUfunction empty;
static CUdeviceptr memory, word_address;
static volatile uint32_t *word;
static uint32_t count;
static void *locked;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned number)
{
    qsort(values, number, sizeof(*values), by_value);
    return values[number / 2];
}

// ---- work ----

static void nothing(void)
{
}

static void launch_empty(void)
{
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void copy_to(void)
{
    CHECK(cuMemcpyHtoDAsync(memory, locked, 64, stream));
}

static void copy_from(void)
{
    CHECK(cuMemcpyDtoHAsync(locked, memory, 64, stream));
}

// ---- ways ----

static void synchronize(void)
{
    CHECK(cuStreamSynchronize(stream));
}

static void query(void)
{
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        ;
}

static void query_event(void)
{
    CHECK(cuEventRecord(event, stream));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        ;
}

static void poll_word(void)
{
    CHECK(cuStreamWriteValue32(stream, word_address, ++count, 0));
    while (*word != count)
        __builtin_ia32_pause();
}

static const struct step {
    const char *name;
    void (*take)(void);
} works[] = {{"nothing", nothing},
             {"launch", launch_empty},
             {"64 B to the GPU", copy_to},
             {"64 B from the GPU", copy_from}},
  ways[] = {{"synchronize", synchronize},
            {"query", query},
            {"record and query an event", query_event},
            {"the GPU writes a word", poll_word}};

static void measure(const struct step *work, const struct step *way, unsigned rounds)
{
    double whole[ROUNDS_MOST], asked[ROUNDS_MOST], times[REPEATS], before[REPEATS];

    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < REPEATS; i++) {
            double began = now_us();
            work->take();
            before[i] = now_us() - began;
            way->take();
            times[i] = now_us() - began;
            CHECK(cuStreamSynchronize(stream)); // leaves no work for the next measurement
        }
        whole[round] = median(times, REPEATS);
        asked[round] = median(before, REPEATS);
    }
    printf(
        "{\"work\": \"%s\", \"way\": \"%s\", \"value\": %.2f, \"asked\": %.2f, \"unit\": \"us\"}\n",
        work->name, way->name, median(whole, rounds), median(asked, rounds));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct gpu gpu = open_gpu(0);
    long rounds = argc == 3 && !strcmp(argv[1], "--rounds") ? strtol(argv[2], NULL, 10) : 9;

    if ((argc != 1 && argc != 3) || rounds < 1 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: waits [--rounds N]    (1 to %d)\n", ROUNDS_MOST);
        return 2;
    }
    empty = kernel(&gpu, "empty");
    memory = device_alloc(4096);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemAllocHost(&locked, 4096));
    CHECK(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    *word = 0;
    CHECK(cuMemHostGetDevicePointer(&word_address, (void *)word, 0));
    for (unsigned i = 0; i < sizeof(works) / sizeof(*works); i++)
        for (unsigned j = 0; j < sizeof(ways) / sizeof(*ways); j++)
            measure(&works[i], &ways[j], (unsigned)rounds);
    return 0;
}

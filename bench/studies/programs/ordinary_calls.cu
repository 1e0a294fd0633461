// SPDX-License-Identifier: BSD-3-Clause
// Measures small calls as programs make them: through the runtime API, in the default stream, with
// allocations in loops. Prints one JSON line for each row: its median in microseconds.
//
//   ordinary_calls [N]     medians of N calls (600), after a tenth of them
#include <cuda_runtime.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call) \
    do { \
        cudaError_t failed_ = (call); \
        if (failed_ != cudaSuccess) { \
            fprintf(stderr, "ordinary_calls: %s: %s\n", #call, cudaGetErrorString(failed_)); \
            exit(1); \
        } \
    } while (0)

enum { SIZES = 100, KIB = 1024, MIB = 1024 * 1024, CALLS_MOST = 100000 };

static cudaStream_t stream;
static cudaEvent_t event, begin, end;
static char *device_memory, *pinned, *pageable;
static void *kept;
static size_t sizes[SIZES];
static unsigned turn;

__global__ void nothing()
{
}

// ---- the rows ----

static void launch_stream_wait(size_t)
{
    nothing<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
}

static void launch_default_wait(size_t)
{
    nothing<<<1, 32>>>();
    CHECK(cudaStreamSynchronize(0));
}

static void launch_device_wait(size_t)
{
    nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
}

static void launch_in_stream_device_wait(size_t)
{
    nothing<<<1, 32, 0, stream>>>();
    CHECK(cudaDeviceSynchronize());
}

static void memset_device_wait(size_t)
{
    CHECK(cudaMemsetAsync(device_memory, 0, MIB));
    CHECK(cudaDeviceSynchronize());
}

static void eight_launches_device_wait(size_t)
{
    for (int i = 0; i < 8; i++)
        nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
}

static void launch_event_query(size_t)
{
    nothing<<<1, 32, 0, stream>>>();
    CHECK(cudaEventRecord(event, stream));
    while (cudaEventQuery(event) == cudaErrorNotReady)
        ;
}

static void launch_stream_query(size_t)
{
    nothing<<<1, 32, 0, stream>>>();
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        ;
}

static void timed_events(size_t)
{
    float ms;
    CHECK(cudaEventRecord(begin, stream));
    nothing<<<1, 32, 0, stream>>>();
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
}

static void pinned_word_back(size_t)
{
    nothing<<<1, 32, 0, stream>>>();
    CHECK(cudaMemcpyAsync(pinned, device_memory, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void malloc_free(size_t size)
{
    void *memory;
    CHECK(cudaMalloc(&memory, size));
    CHECK(cudaFree(memory));
}

static void malloc_free_any(size_t)
{
    malloc_free(sizes[turn++ * 37 % SIZES]);
}

static void malloc_launch_free(size_t)
{
    void *memory;
    CHECK(cudaMalloc(&memory, MIB));
    nothing<<<1, 32>>>();
    CHECK(cudaFree(memory));
}

static void malloc_host_free(size_t size)
{
    void *memory;
    CHECK(cudaMallocHost(&memory, size));
    CHECK(cudaFreeHost(memory));
}

static void malloc_managed_free(size_t)
{
    void *memory;
    CHECK(cudaMallocManaged(&memory, 64 * KIB));
    CHECK(cudaFree(memory));
}

static void malloc_async_free(size_t)
{
    void *memory;
    CHECK(cudaMallocAsync(&memory, MIB, stream));
    CHECK(cudaFreeAsync(memory, stream));
}

static void mem_get_info(size_t)
{
    size_t unused, total;
    CHECK(cudaMemGetInfo(&unused, &total));
}

static void pageable_to_1m(size_t)
{
    CHECK(cudaMemcpy(device_memory, pageable, MIB, cudaMemcpyHostToDevice));
}

static void stream_life(size_t)
{
    cudaStream_t made;
    CHECK(cudaStreamCreate(&made));
    CHECK(cudaStreamDestroy(made));
}

static void event_life(size_t)
{
    cudaEvent_t made;
    CHECK(cudaEventCreate(&made));
    CHECK(cudaEventDestroy(made));
}

static const struct row {
    const char *name;
    void (*call)(size_t size);
    int share; // calls are N / share
    size_t size;
} rows[] = {
    {"launch, wait for its stream", launch_stream_wait, 1},
    {"launch, wait for the default stream", launch_default_wait, 1},
    {"launch, wait for the device", launch_device_wait, 1},
    {"launch in a stream, wait for the device", launch_in_stream_device_wait, 1},
    {"memset of 1 MiB, wait for the device", memset_device_wait, 1},
    {"eight launches, wait for the device", eight_launches_device_wait, 1},
    {"launch, query an event", launch_event_query, 1},
    {"launch, query its stream", launch_stream_query, 1},
    {"timed pair of events", timed_events, 1},
    {"4 B pinned back after a kernel", pinned_word_back, 1},
    {"cudaMalloc and cudaFree of 4 KiB", malloc_free, 1, 4 * KIB},
    {"cudaMalloc and cudaFree of 1 MiB", malloc_free, 1, MIB},
    {"cudaMalloc and cudaFree of 16 MiB", malloc_free, 2, 16 * MIB},
    {"cudaMalloc and cudaFree of 100 sizes", malloc_free_any, 1},
    {"cudaMalloc, launch, cudaFree of 1 MiB", malloc_launch_free, 1},
    {"cudaMallocHost and cudaFreeHost of 64 KiB", malloc_host_free, 2, 64 * KIB},
    {"cudaMallocHost and cudaFreeHost of 1 MiB", malloc_host_free, 4, MIB},
    {"cudaMallocManaged and cudaFree of 64 KiB", malloc_managed_free, 4},
    {"cudaMallocAsync and cudaFreeAsync of 1 MiB", malloc_async_free, 1},
    {"cudaMemGetInfo", mem_get_info, 1},
    {"1 MiB pageable to the GPU", pageable_to_1m, 1},
    {"a stream's life", stream_life, 2},
    {"an event's life", event_life, 1},
};

// ---- measuring ----

static double now_us()
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

static void measure_row(const struct row *row, int calls)
{
    double *took = (double *)malloc((size_t)calls * sizeof(*took));
    for (int i = 0; i < calls / 10 + 1; i++)
        row->call(row->size);
    for (int i = 0; i < calls; i++) {
        double began = now_us();
        row->call(row->size);
        took[i] = now_us() - began;
    }
    qsort(took, (size_t)calls, sizeof(*took), by_value);
    printf("{\"figure\": \"%s\", \"value\": %.3f, \"unit\": \"us\"}\n", row->name, took[calls / 2]);
    fflush(stdout);
    free(took);
}

static void set_up()
{
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMalloc(&device_memory, 2 * MIB));
    CHECK(cudaMalloc(&kept, 4 * KIB)); // another allocation in the driver's block
    CHECK(cudaMallocHost(&pinned, 64 * KIB));
    pageable = (char *)malloc(MIB);
    memset(pageable, 1, MIB);
    for (size_t i = 0; i < SIZES; i++)
        sizes[i] = 64 + i * i * 160;
}

int main(int argc, char **argv)
{
    int calls = argc == 2 ? atoi(argv[1]) : 600;
    if (argc > 2 || calls < 4 || calls > CALLS_MOST) {
        fprintf(stderr, "usage: ordinary_calls [N]    (4 to %d)\n", CALLS_MOST);
        return 2;
    }
    set_up();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        measure_row(&rows[i], calls);
    return 0;
}

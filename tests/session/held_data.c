// SPDX-License-Identifier: BSD-3-Clause
// Holds data in every kind of memory that a session has, and on each line of standard input has the
// GPU look whether they are still right, and changes them. usage: held-data MIB [NANOSECONDS],
// where a kernel runs for so long first; with a third word "plain" none of it is managed, which
// NVIDIA's driver does not suspend. The line "capture" begins a capture, which the next line ends.
#include "tests/programs/driver.h"
#include "tests/programs/graph_calls.h"

#include <string.h>

enum { WORDS = 1 << 16 };

static struct {
    struct gpu gpu;
    CUfunction add;
    CUstream stream;
    CUevent before, after;
    CUgraphExec graph;
    CUdeviceptr device, pooled, managed, detour;
    uint32_t *pinned, *registered;
    size_t size;
} held;

static void complain(const char *what, size_t at, uint32_t got, uint32_t want)
{
    printf("wrong %s at %zu: %u, not %u\n", what, at, got, want);
    exit(4);
}

static void look(const char *what, CUdeviceptr memory, uint32_t round)
{
    uint32_t *copy = must_alloc(held.size);
    CHECK(cuMemcpyDtoH(copy, memory, held.size));
    for (size_t i = 0; i < held.size / 4; i++)
        if (copy[i] != (uint32_t)i + round)
            complain(what, i, copy[i], (uint32_t)i + round);
    free(copy);
}

static void look_at_host(const char *what, const uint32_t *memory, uint32_t round)
{
    for (size_t i = 0; i < WORDS; i++)
        if (memory[i] != (uint32_t)i + round)
            complain(what, i, memory[i], (uint32_t)i + round);
}

static void add_one(CUdeviceptr memory, size_t words, CUstream stream)
{
    unsigned one = 1, n = (unsigned)words;
    CHECK(cuLaunchKernel(held.add, 64, 1, 1, 256, 1, 1, 0, stream, (void *[]){&memory, &one, &n},
                         NULL));
}

// Memory of the program that no kernel may reach, as over a network.
static void add_one_to_host(uint32_t *memory)
{
    CHECK(cuMemcpyHtoDAsync(held.detour, memory, WORDS * 4, held.stream));
    add_one(held.detour, WORDS, held.stream);
    CHECK(cuMemcpyDtoHAsync(memory, held.detour, WORDS * 4, held.stream));
}

static void fill(CUdeviceptr memory)
{
    uint32_t *numbers = must_alloc(held.size);
    for (size_t i = 0; i < held.size / 4; i++)
        numbers[i] = (uint32_t)i;
    CHECK(cuMemcpyHtoD(memory, numbers, held.size));
    free(numbers);
}

static void record_graph(void)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture(held.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    add_one(held.device, held.size / 4, held.stream);
    CHECK(cuStreamEndCapture(held.stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&held.graph, graph, 0));
}

static void capture_until_next_line(void)
{
    char line[64];
    CUgraph graph;
    CHECK(cuStreamBeginCapture(held.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    add_one(held.device, held.size / 4, held.stream);
    printf("capturing\n");
    if (fgets(line, sizeof(line), stdin))
        CHECK(cuStreamEndCapture(held.stream, &graph));
}

static void set_up(size_t mib, bool plain)
{
    held.gpu = open_gpu(0);
    held.add = kernel(&held.gpu, "add");
    held.size = mib << 20;
    CHECK(cuStreamCreate(&held.stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&held.before, 0));
    CHECK(cuEventCreate(&held.after, 0));
    held.device = device_alloc(held.size);
    CHECK(cuMemAllocAsync(&held.pooled, held.size, held.stream));
    CHECK(cuStreamSynchronize(held.stream));
    if (plain)
        held.managed = device_alloc(held.size);
    else
        CHECK(cuMemAllocManaged(&held.managed, held.size, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemHostAlloc((void **)&held.pinned, WORDS * 4, 0));
    held.registered = aligned_alloc(4096, WORDS * 4);
    CHECK(cuMemHostRegister(held.registered, WORDS * 4, 0));
    held.detour = device_alloc(WORDS * 4);
    for (uint32_t i = 0; i < WORDS; i++)
        held.pinned[i] = held.registered[i] = i;
    fill(held.device);
    fill(held.pooled);
    fill(held.managed);
    record_graph();
    CHECK(cuEventRecord(held.before, held.stream));
}

static void change(void)
{
    CHECK(cuGraphLaunch(held.graph, held.stream));
    add_one(held.pooled, held.size / 4, held.stream);
    add_one(held.managed, held.size / 4, held.stream);
    add_one_to_host(held.pinned);
    add_one_to_host(held.registered);
    CHECK(cuEventRecord(held.after, held.stream));
    CHECK(cuEventSynchronize(held.after));
}

static void look_at_all(uint32_t round)
{
    float elapsed;
    look("memory", held.device, round);
    look("memory of a pool", held.pooled, round);
    look("managed memory", held.managed, round);
    look_at_host("page-locked memory", held.pinned, round);
    look_at_host("registered memory", held.registered, round);
    CHECK(cuEventElapsedTime(&elapsed, held.before, held.after));
    if (elapsed < 0)
        complain("time", 0, 0, 0);
}

int main(int argc, char **argv)
{
    char line[64];
    setvbuf(stdout, NULL, _IOLBF, 0);
    set_up(argc > 1 ? strtoull(argv[1], NULL, 0) : 16, argc > 3);
    if (argc > 2) {
        unsigned long long nanoseconds = strtoull(argv[2], NULL, 0);
        launch(kernel(&held.gpu, "delay"), 1, 1, held.stream, &nanoseconds);
        cuStreamQuery(held.stream); // answered when the worker has taken the launch
    }
    printf("ready\n");
    for (uint32_t round = 1; fgets(line, sizeof(line), stdin); round++) {
        if (!strcmp(line, "capture\n")) {
            capture_until_next_line();
            printf("captured\n");
        }
        change();
        look_at_all(round);
        printf("right %u\n", round);
    }
    return 0;
}

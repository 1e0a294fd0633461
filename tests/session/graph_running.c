// SPDX-License-Identifier: BSD-3-Clause
// A program in the middle of a graph: it holds 512 MiB, and a kernel waits for a word that is never
// written. Before and after the kernel are copies of its memory and a host function. Prints a line
// and waits for its end.
#include <unistd.h>

#include "tests/programs/graph_calls.h"

static void nothing(void *opaque)
{
}

int main(void)
{
    enum { BYTES = 1 << 20 };
    struct gpu gpu = open_gpu(0);
    CUdeviceptr held = device_alloc((size_t)512 << 20), flag = device_alloc(4);
    CUstream stream;
    CUgraph graph;
    uint8_t *memory = must_alloc(BYTES);
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuMemcpyHtoDAsync(held, memory, BYTES, stream));
    CHECK(cuLaunchHostFunc(stream, nothing, NULL));
    launch(kernel(&gpu, "wait_flag"), 1, 1, stream, &flag);
    CHECK(cuMemcpyDtoHAsync(memory, held, BYTES, stream));
    CHECK(cuLaunchHostFunc(stream, nothing, NULL));
    CHECK(cuStreamEndCapture(stream, &graph));
    CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuEventCreate(&(CUevent){0}, 0));
    if (cuStreamQuery(stream) != CUDA_ERROR_NOT_READY)
        bail("the graph does not run");
    puts("running");
    fflush(stdout);
    for (;;)
        pause();
}

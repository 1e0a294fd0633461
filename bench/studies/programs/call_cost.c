// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of calls for a client, while other clients may do the same: medians in
// microseconds of a launch of an empty kernel with its synchronization, a small copy from the GPU,
// and a launch alone. Marks make all clients begin together.
//
//   call_cost        STUDY_SECONDS: how long each of the three is repeated
#include "bench/studies/programs/study.h"

enum { ISSUES = 100 };

struct calls {
    CUfunction empty;
    CUstream stream;
    CUdeviceptr memory;
};

static double launch_once(void *argument)
{
    struct calls *c = argument;
    double start = study_now();
    CHECK(cuLaunchKernel(c->empty, 1, 1, 1, 32, 1, 1, 0, c->stream, NULL, NULL));
    CHECK(cuStreamSynchronize(c->stream));
    return study_now() - start;
}

static double copy_once(void *argument)
{
    struct calls *c = argument;
    char bytes[64];
    double start = study_now();
    CHECK(cuMemcpyDtoH(bytes, c->memory, sizeof(bytes)));
    return study_now() - start;
}

static double issue_once(void *argument)
{
    struct calls *c = argument;
    double start = study_now();
    for (int i = 0; i < ISSUES; i++)
        CHECK(cuLaunchKernel(c->empty, 1, 1, 1, 32, 1, 1, 0, c->stream, NULL, NULL));
    double spent = study_now() - start;
    CHECK(cuStreamSynchronize(c->stream));
    return spent / ISSUES;
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    struct calls calls = {.empty = kernel(&gpu, "empty"), .memory = device_alloc(64)};
    CHECK(cuStreamCreate(&calls.stream, CU_STREAM_NON_BLOCKING));
    double seconds = study_seconds(0.3);
    launch_once(&calls);
    study_mark("begin");
    study_figure("launch and synchronize", study_repeat(launch_once, &calls, seconds, 3), "us");
    study_figure("64 bytes from the GPU", study_repeat(copy_once, &calls, seconds, 3), "us");
    study_figure("launch alone", study_repeat(issue_once, &calls, seconds, 3), "us");
    study_mark("end");
    CHECK(cuStreamDestroy(calls.stream));
    CHECK(cuMemFree(calls.memory));
    close_gpu(&gpu);
    return 0;
}

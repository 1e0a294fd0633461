// SPDX-License-Identifier: BSD-3-Clause
// A copy between two GPUs in the legacy default stream of one waits for the blocking streams of the
// other, the legacy one included, but not for non-blocking ones. A copy in any other stream waits
// for neither.
#include <time.h>

#include "tests/programs/driver.h"

enum { BYTES = 4096 };

static struct gpu gpu[2];
static CUdeviceptr memory[2];

static void on(int device)
{
    CHECK(cuCtxSetCurrent(gpu[device].context));
}

// GPU 0 copies to GPU 1.
static void copy(CUstream stream)
{
    CHECK(cuMemcpyPeerAsync(memory[1], gpu[1].context, memory[0], gpu[0].context, BYTES, stream));
}

// A copy that is not held is made within that time.
static bool ends_soon(CUstream stream)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 20 && cuStreamQuery(stream) == CUDA_ERROR_NOT_READY; i++)
        nanosleep(&pause, NULL);
    return cuStreamQuery(stream) == CUDA_SUCCESS;
}

// GPU 1 is busy in a stream, and GPU 0 copies to it in another stream, and then in its legacy one:
// what is held may hold up later copies, too.
static void while_busy(CUstream busy, const char *what, bool is_held)
{
    CUstream other;
    on(1);
    struct hold hold = hold_stream(&gpu[1], busy);
    on(0);
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    copy(other);
    gives(cuStreamSynchronize(other), CUDA_SUCCESS,
          "a copy in a non-blocking stream is made while GPU 1's %s stream is busy", what);
    copy(NULL);
    if (is_held)
        ok(!ends_soon(NULL), "one in the legacy stream is held");
    else
        gives(cuStreamSynchronize(NULL), CUDA_SUCCESS, "one in the legacy stream is, too");
    on(1);
    hold_release(&hold);
    CHECK(cuCtxSynchronize());
    on(0);
    gives(cuStreamSynchronize(NULL), CUDA_SUCCESS, "all copies end with the work of GPU 1");
    CHECK(cuStreamDestroy(other));
}

int main(void)
{
    CUstream blocking, apart;
    need_two_devices();
    for (int i = 0; i < 2; i++) {
        gpu[i] = open_gpu(i);
        memory[i] = device_alloc(BYTES);
    }
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    while_busy(NULL, "legacy", true);
    while_busy(blocking, "blocking", true);
    while_busy(apart, "non-blocking", false);
    close_gpu(&gpu[1]);
    close_gpu(&gpu[0]);
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// A child of a process that has called cuInit gets NOT_INITIALIZED and does not disturb its
// parent; one made before cuInit works.
#include "tests/sim/sim_test.h"

static int child_result(bool initialize)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        int count;
        size_t left, total;
        if (initialize)
            exit(cuInit(0) ? 1 : cuDeviceGetCount(&count) ? 2 : 0);
        exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                     cuMemGetInfo(&left, &total) == CUDA_ERROR_NOT_INITIALIZED
                 ? 0
                 : 3);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bail("no process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    size_t before, after, total;
    sim_isolate("1", "256M");
    is_int(child_result(true), 0, "a child from before cuInit works");
    sim_context(0);
    CUstream stream = sim_stream(0);
    CUdeviceptr address = device_alloc(1 << 20);
    CHECK(cuMemsetD8Async(address, 1, 1 << 20, stream));
    CHECK(cuMemGetInfo(&before, &total));
    is_int(child_result(false), 0, "one from after it is refused");
    CHECK(cuMemGetInfo(&after, &total));
    is_int(after, before, "its end frees nothing of its parent's");
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS, "and the parent goes on");
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// fork in a program that uses CUDA: before cuInit both sides may use it, after it the child gets
// errors and does its parent no harm.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/driver.h"

static bool computes(const struct gpu *gpu)
{
    CUdeviceptr data = device_alloc(400);
    unsigned n = 100, one = 1;
    uint32_t got[100] = {0};
    CHECK(cuMemsetD32(data, 41, n));
    launch(kernel(gpu, "add"), 1, 128, NULL, &data, &one, &n);
    CHECK(cuMemcpyDtoH(got, data, 400));
    CHECK(cuMemFree(data));
    return got[0] == 42 && got[99] == 42;
}

static int status_of(pid_t child)
{
    int status = -1;
    if (waitpid(child, &status, 0) != child)
        bail("waitpid");
    return status;
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(2);
        struct gpu gpu = open_gpu(0);
        bool right = computes(&gpu);
        close_gpu(&gpu);
        exit(right ? 0 : 1);
    }
    struct gpu gpu = open_gpu(0);
    ok(computes(&gpu), "the parent of an early fork computes");
    is_int(status_of(child), 0, "so does the child");

    // Results of the child: bit 0 for a call that should have failed.
    CUdeviceptr data = device_alloc(4096);
    CHECK(cuMemsetD8(data, 0x33, 4096));
    CHECK(cuCtxSynchronize());
    fflush(stdout);
    child = fork();
    if (child == 0) {
        unsigned char byte;
        CUdeviceptr memory;
        int worked = 0;
        worked |= cuMemAlloc(&memory, 4096) == CUDA_SUCCESS;
        worked |= (cuMemcpyDtoH(&byte, data, 1) == CUDA_SUCCESS) << 1;
        worked |= (cuCtxSynchronize() == CUDA_SUCCESS) << 2;
        exit(worked); // with its exit handlers, which must leave the parent's session alone
    }
    is_int(status_of(child), 0, "every call of a child forked after cuInit fails");
    unsigned char byte = 0;
    gives(cuMemcpyDtoH(&byte, data + 4095, 1), CUDA_SUCCESS, "the parent goes on");
    is_int(byte, 0x33, "with its memory as it was");
    ok(computes(&gpu), "and computes");

    child = fork();
    if (child == 0)
        _exit(0);
    is_int(status_of(child), 0, "a child that leaves at once");
    unsetenv("LD_PRELOAD"); // a sanitizer loaded for us is nothing for the shell
    is_int(system("exit 7") >> 8, 7, "a command run by a shell");
    ok(computes(&gpu), "leave the parent computing");
    CHECK(cuMemFree(data));
    close_gpu(&gpu);
    return done();
}

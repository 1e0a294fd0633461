// SPDX-License-Identifier: BSD-3-Clause
// A kernel that writes to an address that is not its own: the error comes at a synchronizing
// call, stays for this process, and touches no other.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/driver.h"

static void sticky(const struct gpu *gpu, const char *name, CUresult want)
{
    CUdeviceptr bad = 0x1000, memory = 0, before = device_alloc(4096);
    unsigned value = 1;
    char device_name[64] = "";
    uint32_t word;
    CUfunction function = kernel(gpu, name);
    launch(function, 1, 1, NULL, &bad, &value);
    gives(cuCtxSynchronize(), want, "%s: the synchronization after it says so", name);
    gives(cuCtxSynchronize(), want, "%s: so does the next", name);
    gives(cuMemAlloc(&memory, 4096), want, "%s: no memory can be allocated", name);
    gives(cuMemcpyDtoH(&word, before, 4), want, "%s: nothing can be copied", name);
    gives(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&bad, &value}, NULL), want,
          "%s: nothing can be launched", name);
    gives(cuDeviceGetName(device_name, sizeof device_name, gpu->device), CUDA_SUCCESS,
          "%s: the device still has a name", name);
    const char *text = NULL;
    CHECK(cuGetErrorString(want, &text));
    ok(text && *text, "%s: the error has a text", name);
}

// Queues a copy to the GPU and a free after a fault. Neither may wait for work that never ends.
static void freed_behind(const struct gpu *gpu, const char *name, CUresult want)
{
    enum { SIZE = 9 << 20 };
    CUdeviceptr bad = 0x1000, memory, before = device_alloc(SIZE);
    unsigned value = 1;
    CUstream stream;
    CUevent copied;
    void *host;
    if (!device_attribute(gpu->device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        return;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemHostAlloc(&host, SIZE, 0));
    CHECK(cuMemAllocAsync(&memory, SIZE, stream));
    struct hold copy = hold_stream(gpu, stream);
    CHECK(cuMemcpyDtoHAsync(host, memory, SIZE, stream));
    CHECK(cuEventRecord(copied, stream));
    struct hold fault = hold_stream(gpu, stream);
    launch(kernel(gpu, name), 1, 1, stream, &bad, &value);
    CHECK(cuMemcpyHtoDAsync(before, host, SIZE, stream));
    CHECK(cuMemFreeAsync(memory, stream));
    hold_release(&copy);
    CHECK(cuEventSynchronize(copied));
    CHECK(cuMemsetD32Async(fault.flag, 1, 1, fault.release));
    gives(cuStreamSynchronize(stream), want, "%s before a free: the synchronization says so", name);
    gives(cuMemFree(before), want, "%s before a free: so does another free", name);
}

static int in_child(void (*check)(const struct gpu *, const char *, CUresult),
                    const char *kernel_name, CUresult want)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        bail("fork");
    if (child == 0) {
        // The child's checks are summed up in its exit status; its TAP would mix with ours.
        if (!freopen("/dev/null", "w", stdout))
            _exit(2);
        tap_count = tap_failures = 0;
        struct gpu gpu = open_gpu(0);
        check(&gpu, kernel_name, want);
        exit(tap_failures != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

int main(void)
{
    int before = in_child(sticky, "poke", CUDA_ERROR_ILLEGAL_ADDRESS);
    is_int(before, 0, "a process whose kernel writes to a bad address");
    before = in_child(freed_behind, "poke", CUDA_ERROR_ILLEGAL_ADDRESS);
    is_int(before, 0, "one that does so between copies, and before a free");

    struct gpu gpu = open_gpu(0);
    CUdeviceptr data = device_alloc(400);
    unsigned n = 100, one = 1;
    uint32_t got[100];
    CHECK(cuMemsetD32(data, 41, n));
    launch(kernel(&gpu, "add"), 1, 128, NULL, &data, &one, &n);
    CHECK(cuMemcpyDtoH(got, data, 400));
    ok(got[0] == 42 && got[99] == 42, "the next process computes as if nothing had been");

    sticky(&gpu, "poke", CUDA_ERROR_ILLEGAL_ADDRESS);
    diag("the process goes on to its end");
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Tests events between two processes. One records them after its work; the other makes its stream
// wait for them, queries them, and waits itself. If the first process dies before its event is
// reached, the other continues (argument "orphan").
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/driver.h"
#include "tests/programs/other_process.h"

enum { ROUNDS = 3, WORDS = 1024 };

struct offer {
    CUipcMemHandle memory;
    CUipcEventHandle event;
    int wrong; // an event that is not made for it has a handle
};

static void signal_other(int link)
{
    send_all(link, "x", 1);
}

static void await_other(int link)
{
    char byte;
    take_all(link, &byte, 1);
}

static CUevent new_event(void)
{
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    return event;
}

// Its stream stands still until the other process has queued what waits for the event.
static void work(const struct gpu *gpu, CUdeviceptr memory, CUevent event, int link, uint32_t round)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    struct hold hold = hold_stream(gpu, stream);
    CHECK(cuMemsetD32Async(memory, 100 + round, WORDS, stream));
    CHECK(cuEventRecord(event, stream));
    signal_other(link);
    await_other(link);
    hold_release(&hold);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
    await_other(link); // which may ask for this record until then
}

static void record(int link)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr memory = device_alloc(WORDS * 4);
    CUevent event = new_event(), plain;
    struct offer offer;
    CUipcEventHandle none;
    CHECK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    offer.wrong = cuIpcGetEventHandle(&none, plain) == CUDA_SUCCESS;
    CHECK(cuIpcGetMemHandle(&offer.memory, memory));
    CHECK(cuIpcGetEventHandle(&offer.event, event));
    send_all(link, &offer, sizeof(offer));
    for (uint32_t round = 0; round < ROUNDS; round++)
        work(&gpu, memory, event, link, round);
    await_other(link); // or killed here, or before
}

static void check_round(CUdeviceptr memory, CUevent event, int link, uint32_t round)
{
    CUstream stream;
    uint32_t *got;
    CHECK(cuMemHostAlloc((void **)&got, 4, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    await_other(link);
    gives(cuEventQuery(event), CUDA_ERROR_NOT_READY, "round %u: the event has not come", round);
    CHECK(cuStreamWaitEvent(stream, event, 0));
    CHECK(cuMemcpyDtoHAsync(got, memory, 4, stream));
    signal_other(link);
    gives(cuEventSynchronize(event), CUDA_SUCCESS, "it is waited for");
    CHECK(cuStreamSynchronize(stream));
    is_int((int)*got, 100 + (int)round, "what waited in a stream comes behind it");
    gives(cuEventQuery(event), CUDA_SUCCESS, "and it has come");
    signal_other(link);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFreeHost(got));
}

// The one that is to let the event come is killed while this stream waits for it.
static void check_orphan(CUevent event, int link, pid_t recorder)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    await_other(link);
    gives(cuEventQuery(event), CUDA_ERROR_NOT_READY, "the event has not come");
    CHECK(cuStreamWaitEvent(stream, event, 0));
    kill(recorder, SIGKILL);
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS,
          "a stream that waits for the event of a dead process goes on");
    CHECK(cuStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    int ends[2], status;
    struct offer offer;
    CUevent event;
    CUdeviceptr memory;
    bool orphan = argc > 1 && !strcmp(argv[1], "orphan");
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        bail("no sockets");
    pid_t recorder = fork();
    if (!recorder) {
        close(ends[0]);
        CHECK(cuInit(0));
        if (device_attribute(0, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED))
            record(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    struct gpu gpu = open_gpu(0);
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED))
        skip_all("the device says that it has no events between processes");
    gives(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE,
          "an event between processes takes no times");
    take_all(ends[0], &offer, sizeof(offer));
    ok(!offer.wrong, "an event that is not for it has no handle");
    CHECK(cuIpcOpenMemHandle(&memory, offer.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    gives(cuIpcOpenEventHandle(&event, offer.event), CUDA_SUCCESS, "another process opens one");
    for (uint32_t round = 0; round < ROUNDS && !orphan; round++)
        check_round(memory, event, ends[0], round);
    if (orphan)
        check_orphan(event, ends[0], recorder);
    else
        signal_other(ends[0]);
    waitpid(recorder, &status, 0);
    gives(cuEventDestroy(event), CUDA_SUCCESS, "it is closed");
    CHECK(cuIpcCloseMemHandle(memory));
    close_gpu(&gpu);
    return done();
}

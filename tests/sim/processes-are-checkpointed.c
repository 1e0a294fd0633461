// SPDX-License-Identifier: BSD-3-Clause
// Another process is locked, its memory given to others and brought back, and its calls wait
// meanwhile; orders that do not fit its state change nothing.
#include <poll.h>
#include <signal.h>

#include "tests/sim/sim_test.h"

CUresult cuCheckpointProcessGetState(int pid, CUprocessState *state);
CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args);
CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args);
CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args);
CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args);

enum { MIB = 1 << 20, HELD = 64 * MIB };

static struct {
    pid_t pid;
    int to, from;
} child;

static void answer(int fd, char byte)
{
    if (write(fd, &byte, 1) != 1)
        _exit(2);
}

// Holds HELD bytes; for each byte that it reads it looks at them, 'w': starts a wait that 'o' ends.
static void hold(int to, int from)
{
    CUcontext context;
    CUdeviceptr held, word;
    CUstream stream;
    uint32_t *pinned, got = 0;
    char order;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuMemAlloc(&held, HELD) || cuMemsetD32(held, 7, HELD / 4) ||
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
        cuMemHostAlloc((void **)&pinned, 4, CU_MEMHOSTALLOC_DEVICEMAP) ||
        cuMemHostGetDevicePointer(&word, pinned, 0))
        _exit(3);
    *pinned = 0;
    answer(from, 1);
    while (read(to, &order, 1) == 1) {
        CUresult result = CUDA_SUCCESS;
        if (order == 'w')
            result = cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_GEQ);
        else if (order == 'o')
            __atomic_store_n(pinned, 1, __ATOMIC_RELEASE);
        else
            result = cuMemcpyDtoH(&got, held + HELD - 4, 4);
        answer(from, result || (order == 'l' && got != 7) ? 2 : 1);
    }
    exit(0);
}

// Before this process calls cuInit, as children of one that did are of no use.
static void make_child(void)
{
    int to[2], from[2];
    if (pipe(to) || pipe(from))
        bail("no pipes");
    child.pid = fork();
    if (!child.pid) {
        close(to[1]);
        close(from[0]);
        hold(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    child.to = to[1];
    child.from = from[0];
}

static bool hears_one(void)
{
    char byte = 0;
    return read(child.from, &byte, 1) == 1 && byte == 1;
}

static void order(char byte)
{
    if (write(child.to, &byte, 1) != 1)
        bail("the other process is gone");
}

static bool answers_now(void)
{
    struct pollfd readable = {.fd = child.from, .events = POLLIN};
    return poll(&readable, 1, 0) == 1;
}

static size_t free_memory(void)
{
    size_t available = 0, total;
    if (cuMemGetInfo(&available, &total))
        bail("the memory is not told");
    return available;
}

static void walk_through(void)
{
    CUprocessState state;
    size_t before = free_memory();
    gives(cuCheckpointProcessCheckpoint(child.pid, NULL), CUDA_ERROR_ILLEGAL_STATE,
          "what runs is not checkpointed");
    gives(cuCheckpointProcessRestore(child.pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "nor restored");
    gives(cuCheckpointProcessLock(child.pid, NULL), CUDA_SUCCESS, "it is locked");
    order('l');
    gives(cuCheckpointProcessLock(child.pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "once");
    gives(cuCheckpointProcessCheckpoint(child.pid, NULL), CUDA_SUCCESS, "and checkpointed");
    ok(!cuCheckpointProcessGetState(child.pid, &state) && state == CU_PROCESS_STATE_CHECKPOINTED,
       "which is its state");
    ok(free_memory() >= before + HELD, "its memory is for others");
    gives(cuCheckpointProcessUnlock(child.pid, NULL), CUDA_ERROR_ILLEGAL_STATE,
          "it is not unlocked without");
    ok(!answers_now(), "its calls wait");
    gives(cuCheckpointProcessRestore(child.pid, NULL), CUDA_SUCCESS, "it is restored");
    ok(free_memory() == before, "and has its memory");
    ok(!answers_now(), "its calls still wait");
    gives(cuCheckpointProcessUnlock(child.pid, NULL), CUDA_SUCCESS, "it is unlocked");
    ok(hears_one(), "and goes on with its data");
}

static void wait_for_work(void)
{
    CUcheckpointLockArgs soon = {.timeoutMs = 50};
    order('w');
    ok(hears_one(), "a stream waits for a word");
    gives(cuCheckpointProcessLock(child.pid, &soon), CUDA_ERROR_NOT_READY,
          "for which the lock waits as long as it may");
    order('l');
    ok(hears_one(), "calls go on when it does not");
    order('o');
    ok(hears_one(), "the word is written");
    gives(cuCheckpointProcessLock(child.pid, NULL), CUDA_SUCCESS, "it is locked then");
    gives(cuCheckpointProcessUnlock(child.pid, NULL), CUDA_SUCCESS, "and unlocked");
}

static void find_no_room(void)
{
    CUdeviceptr mine;
    gives(cuCheckpointProcessLock(child.pid, NULL), CUDA_SUCCESS, "it is locked again");
    gives(cuCheckpointProcessCheckpoint(child.pid, NULL), CUDA_SUCCESS, "and checkpointed");
    if (cuMemAlloc(&mine, free_memory() - 8 * MIB))
        bail("what it had is not there for others");
    gives(cuCheckpointProcessRestore(child.pid, NULL), CUDA_ERROR_OUT_OF_MEMORY,
          "it finds no room while others have it");
    cuMemFree(mine);
    gives(cuCheckpointProcessRestore(child.pid, NULL), CUDA_SUCCESS, "and its own afterwards");
    gives(cuCheckpointProcessUnlock(child.pid, NULL), CUDA_SUCCESS, "it goes on");
    order('l');
    ok(hears_one(), "with its data");
}

static void change_devices(void)
{
    CUuuid first, second;
    CUcheckpointGpuPair pairs[2];
    CUcheckpointRestoreArgs args = {.gpuPairs = pairs, .gpuPairsCount = 1};
    size_t before = free_memory();
    if (cuDeviceGetUuid(&first, 0) || cuDeviceGetUuid(&second, 1))
        bail("no two devices");
    cuCheckpointProcessLock(child.pid, NULL);
    cuCheckpointProcessCheckpoint(child.pid, NULL);
    pairs[0] = (CUcheckpointGpuPair){first, second};
    pairs[1] = (CUcheckpointGpuPair){second, second};
    gives(cuCheckpointProcessRestore(child.pid, &args), CUDA_ERROR_INVALID_VALUE,
          "it needs a place for each device that it can see");
    args.gpuPairsCount = 2;
    gives(cuCheckpointProcessRestore(child.pid, &args), CUDA_ERROR_INVALID_VALUE,
          "and one of its own for each");
    pairs[1] = (CUcheckpointGpuPair){second, first};
    gives(cuCheckpointProcessRestore(child.pid, &args), CUDA_SUCCESS, "it moves to another device");
    cuCheckpointProcessUnlock(child.pid, NULL);
    ok(free_memory() >= before + HELD, "its memory is no longer on the first");
    order('l');
    ok(hears_one(), "and its data have moved along");
}

int main(void)
{
    CUcontext context;
    CUprocessState state;
    setenv("RGPU_SIM_DEVICES", "2", 1);
    setenv("RGPU_SIM_MEMORY", "512M", 1);
    make_child();
    if (!hears_one() || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
        cuCtxSetCurrent(context))
        bail("nothing to test with");
    gives(cuCheckpointProcessGetState(0x3fffffff, &state), CUDA_ERROR_OPERATING_SYSTEM,
          "who is not there has no state");
    gives(cuCheckpointProcessGetState(1, &state), CUDA_ERROR_NOT_INITIALIZED,
          "nor has who uses no GPU");
    walk_through();
    wait_for_work();
    find_no_room();
    change_devices();
    cuCheckpointProcessLock(child.pid, NULL);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    ok(cuCheckpointProcessUnlock(child.pid, NULL) != CUDA_SUCCESS, "the dead are not unlocked");
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Functions for the tests of the software GPU: a device of their own, gates in streams, and calls
// that the programs of tests/programs do not use.
#ifndef RGPU_TESTS_SIM_TEST_H
#define RGPU_TESTS_SIM_TEST_H

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/driver.h"

CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned);
CUresult cuStreamWaitValue64_v2(CUstream, CUdeviceptr, cuuint64_t, unsigned);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned);
CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr, cuuint64_t, unsigned);
CUresult cuStreamBatchMemOp_v2(CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned);
CUresult cuStreamGetId(CUstream, unsigned long long *);
CUresult cuCtxGetId(CUcontext, unsigned long long *);
CUresult cuMemPoolGetAccess(CUmemAccess_flags *, CUmemoryPool, CUmemLocation *);
CUresult cuPointerGetAttributes(unsigned, CUpointer_attribute *, void **, CUdeviceptr);
CUresult cuMemsetD8_v2_ptds(CUdeviceptr, unsigned char, size_t);
CUresult cuStreamSynchronize_ptsz(CUstream);
CUresult cuStreamQuery_ptsz(CUstream);
CUresult cuLaunchHostFunc_ptsz(CUstream, CUhostFn, void *);
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
                               size_t *, size_t, CUstream);
CUresult cuModuleGetFunctionCount(unsigned *, CUmodule);
CUresult cuLibraryGetKernelCount(unsigned *, CUlibrary);
CUresult cuLibraryEnumerateKernels(CUkernel *, unsigned, CUlibrary);
CUresult cuLibraryGetModule(CUmodule *, CUlibrary);
CUresult cuKernelGetParamInfo(CUkernel, size_t, size_t *, size_t *);
CUresult cuKernelGetName(const char **, CUkernel);
CUresult cuKernelGetAttribute(int *, CUfunction_attribute, CUkernel, CUdevice);
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice);
CUresult cuModuleLoad(CUmodule *, const char *);
CUresult cuGraphicsUnregisterResource(CUgraphicsResource);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned);
CUresult cuCtxSetFlags(unsigned);

static char sim_state_path[64];

static void sim_forget_state(void)
{
    unlink(sim_state_path);
}

// Devices that no other process shares. Before the first call.
static inline void sim_isolate(const char *devices, const char *memory)
{
    snprintf(sim_state_path, sizeof(sim_state_path), "/dev/shm/rgpu-sim-test-%d", (int)getpid());
    setenv("RGPU_SIM_STATE", sim_state_path, 1);
    setenv("RGPU_SIM_DEVICES", devices, 1);
    setenv("RGPU_SIM_MEMORY", memory, 1);
    setenv("RGPU_SIM_CONTEXT_COST", "16M", 1);
    atexit(sim_forget_state);
}

static inline CUcontext sim_context(int ordinal)
{
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, ordinal));
    CHECK(cuCtxSetCurrent(context));
    return context;
}

static inline CUstream sim_stream(unsigned flags)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, flags));
    return stream;
}

// A word of pinned memory, zero at first, that streams can be made to wait for.
static inline uint32_t *sim_word(void)
{
    void *word;
    CHECK(cuMemAllocHost(&word, 4096));
    memset(word, 0, 4096);
    return (uint32_t *)word;
}

static inline void sim_close_gate(CUstream stream, uint32_t *gate)
{
    CHECK(
        cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
}

static inline void sim_open_gate(uint32_t *gate)
{
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
}

// Notes in which order host functions run.
struct sim_trace {
    atomic_int count;
    int order[64];
};

struct sim_mark {
    struct sim_trace *trace;
    int value;
};

static inline void sim_note(void *argument)
{
    struct sim_mark *mark = (struct sim_mark *)argument;
    int at = atomic_fetch_add(&mark->trace->count, 1);
    mark->trace->order[at] = mark->value;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
// A kernel that faults loses its context: every later call there says so, other contexts and other
// processes go on, and the context can be destroyed.
#include "tests/sim/sim_test.h"

static const char faulty_ptx[] = ".version 7.8\n"
                                 ".target sm_90\n"
                                 ".address_size 64\n"
                                 ".visible .entry store(.param .u64 p)\n"
                                 "{\n"
                                 "  .reg .b64 %rd<2>;\n"
                                 "  .reg .b32 %r<2>;\n"
                                 "  ld.param.u64 %rd1, [p];\n"
                                 "  mov.u32 %r1, 5;\n"
                                 "  st.global.u32 [%rd1], %r1;\n"
                                 "  ret;\n"
                                 "}\n"
                                 ".visible .entry stop()\n"
                                 "{\n"
                                 "  trap;\n"
                                 "  ret;\n"
                                 "}\n";

struct victim {
    CUcontext context;
    CUfunction store;
    CUfunction stop;
    CUdeviceptr memory;
};

static struct victim make_victim(void)
{
    struct victim victim;
    CUmodule module;
    CHECK(cuCtxCreate_v2(&victim.context, 0, 0));
    CHECK(cuModuleLoadData(&module, faulty_ptx));
    CHECK(cuModuleGetFunction(&victim.store, module, "store"));
    CHECK(cuModuleGetFunction(&victim.stop, module, "stop"));
    victim.memory = device_alloc(64);
    return victim;
}

static void noted(CUstream stream, CUresult status, void *data)
{
    *(CUresult *)data = status;
}

static void check_everything_fails(struct victim *victim, CUresult fault)
{
    char byte;
    size_t left, total;
    CUdeviceptr address;
    CUstream stream;
    CUmodule module;
    gives(cuCtxSynchronize(), fault, "synchronizing tells of the fault");
    gives(cuCtxSynchronize(), fault, "again and again");
    gives(cuMemAlloc(&address, 16), fault, "no memory is to be had");
    gives(cuMemcpyDtoH(&byte, victim->memory, 1), fault, "none to be read");
    gives(cuMemFree(victim->memory), fault, "and none freed");
    gives(cuStreamCreate(&stream, 0), fault, "no streams");
    gives(cuStreamQuery(NULL), fault, "not even the default one");
    gives(cuModuleLoadData(&module, faulty_ptx), fault, "no modules");
    gives(cuMemGetInfo(&left, &total), fault, "no information");
    gives(cuLaunchKernel(victim->stop, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), fault,
          "and no launches");
}

static void check_fault(CUdeviceptr (*bad_address)(const struct victim *), CUresult fault,
                        const char *what)
{
    struct victim victim = make_victim();
    CUresult seen = CUDA_SUCCESS;
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr address = bad_address(&victim);
    diag("%s", what);
    launch(address ? victim.store : victim.stop, 1, 1, stream, &address);
    if (cuStreamAddCallback(stream, noted, &seen, 0) == CUDA_SUCCESS)
        cuStreamSynchronize(stream);
    else
        seen = fault;
    is_int(seen, fault, "%s: a callback behind the kernel is told", what);
    check_everything_fails(&victim, fault);
    gives(cuCtxDestroy(victim.context), CUDA_SUCCESS, "the context is destroyed");
}

static CUdeviceptr out_of_bounds(const struct victim *victim)
{
    return victim->memory + 64;
}

static CUdeviceptr crooked(const struct victim *victim)
{
    return victim->memory + 2;
}

static CUdeviceptr freed(const struct victim *victim)
{
    CUdeviceptr address = device_alloc(4096);
    CHECK(cuMemFree(address));
    return address;
}

static CUdeviceptr of_another_context(const struct victim *victim)
{
    CUcontext other;
    CUdeviceptr address = 0;
    CHECK(cuCtxCreate_v2(&other, 0, 0));
    address = device_alloc(64);
    CHECK(cuCtxPopCurrent(NULL));
    return address;
}

static CUdeviceptr trap(const struct victim *victim)
{
    return 0;
}

int main(void)
{
    sim_isolate("1", "1G");
    CHECK(cuInit(0));
    struct victim sound = make_victim();
    check_fault(out_of_bounds, CUDA_ERROR_ILLEGAL_ADDRESS, "a write behind an allocation");
    check_fault(crooked, CUDA_ERROR_MISALIGNED_ADDRESS, "a misaligned write");
    check_fault(freed, CUDA_ERROR_ILLEGAL_ADDRESS, "a write to freed memory");
    check_fault(of_another_context, CUDA_ERROR_ILLEGAL_ADDRESS, "a write to another's memory");
    check_fault(trap, CUDA_ERROR_LAUNCH_FAILED, "a trap");

    CHECK(cuCtxSetCurrent(sound.context));
    launch(sound.store, 1, 1, NULL, &sound.memory);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "the other context never noticed");
    uint32_t word = 0;
    CHECK(cuMemcpyDtoH(&word, sound.memory, 4));
    is_int(word, 5, "and computes");
    return done();
}

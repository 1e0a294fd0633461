// SPDX-License-Identifier: BSD-3-Clause
// Streams that wait for words of memory and write them, in every comparison and both widths.
#include "tests/sim/sim_test.h"

static void check_comparison(CUstream stream, uint32_t *word, unsigned how, uint32_t before,
                             uint32_t wanted, uint32_t after, const char *name)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)word;
    struct sim_trace trace = {0};
    struct sim_mark mark = {&trace, 1};
    __atomic_store_n(word, before, __ATOMIC_RELEASE);
    CHECK(cuStreamWaitValue32_v2(stream, address, wanted, how));
    CHECK(cuLaunchHostFunc(stream, sim_note, &mark));
    gives(cuStreamQuery(stream), CUDA_ERROR_NOT_READY, "%s: 0x%x does not do for 0x%x", name,
          before, wanted);
    __atomic_store_n(word, after, __ATOMIC_RELEASE);
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS, "%s: 0x%x does", name, after);
    is_int(atomic_load(&trace.count), 1, "%s: what was behind has run", name);
}

static void check_wide(CUstream stream, uint64_t *word)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)word;
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    CHECK(cuStreamWaitValue64_v2(stream, address, UINT64_C(1) << 40, CU_STREAM_WAIT_VALUE_GEQ));
    gives(cuStreamQuery(stream), CUDA_ERROR_NOT_READY, "all 64 bits count");
    __atomic_store_n(word, UINT64_C(1) << 40, __ATOMIC_RELEASE);
    CHECK(cuStreamWriteValue64_v2(stream, address, UINT64_C(0x123456789a), 0));
    CHECK(cuStreamSynchronize(stream));
    is_int(*word, UINT64_C(0x123456789a), "and are written");
}

static void check_batch(CUstream stream, uint32_t *words)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words;
    CUstreamBatchMemOpParams items[3] = {
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                       .address = address,
                       .value = 9,
                       .flags = CU_STREAM_WAIT_VALUE_EQ}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                        .address = address + 4,
                        .value = 11}},
        {.memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER}},
    };
    words[0] = words[1] = 0;
    CHECK(cuStreamBatchMemOp_v2(stream, 3, items, 0));
    is_int(__atomic_load_n(&words[1], __ATOMIC_ACQUIRE), 0, "a batch stops at its wait");
    __atomic_store_n(&words[0], 9, __ATOMIC_RELEASE);
    CHECK(cuStreamSynchronize(stream));
    is_int(words[1], 11, "and goes on behind it");
}

int main(void)
{
    sim_isolate("1", "1G");
    CUcontext context = sim_context(0);
    uint32_t *word = sim_word();
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)word;
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING),
             writer = sim_stream(CU_STREAM_NON_BLOCKING);

    check_comparison(stream, word, CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 6, "not below");
    check_comparison(stream, word, CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0, 2, 3,
                     "not below, across the wrap");
    check_comparison(stream, word, CU_STREAM_WAIT_VALUE_EQ, 4, 5, 5, "equal");
    check_comparison(stream, word, CU_STREAM_WAIT_VALUE_AND, 0x10, 0x0f, 0x11, "any bit of");
    check_comparison(stream, word, CU_STREAM_WAIT_VALUE_NOR, 0xf0f0f0f0, 0x0f0f0f0f, 0,
                     "a zero in both");
    check_wide(stream, (uint64_t *)(void *)word);
    check_batch(stream, word);

    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    sim_close_gate(stream, word);
    CHECK(cuStreamWriteValue32_v2(writer, address, 1, 0));
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS, "another stream can open the gate");

    CUdeviceptr device = device_alloc(64);
    CHECK(cuMemsetD32(device, 0, 16));
    CHECK(cuStreamWaitValue32_v2(stream, device, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(cuStreamWriteValue32_v2(writer, device, 1, 0));
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS, "also in device memory");

    static uint32_t plain;
    gives(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)&plain, 1, 0),
          CUDA_ERROR_INVALID_VALUE, "but not in memory that the device cannot reach");
    gives(cuStreamWaitValue32_v2(stream, address + 2, 1, 0), CUDA_ERROR_INVALID_VALUE,
          "nor at a crooked address");
    gives(cuStreamWriteValue32_v2(writer, address, 2, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER),
          CUDA_ERROR_INVALID_VALUE, "and no word is written without a barrier");

    // This wait never ends.
    CUcontext doomed;
    CHECK(cuCtxCreate_v2(&doomed, 0, 0));
    uint32_t *never = sim_word();
    sim_close_gate(NULL, never);
    gives(cuCtxDestroy(doomed), CUDA_SUCCESS, "a context that waits for a value can be destroyed");
    CHECK(cuCtxSetCurrent(context));
    return done();
}

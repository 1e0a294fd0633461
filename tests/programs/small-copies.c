// SPDX-License-Identifier: BSD-3-Clause
// Small asynchronous copies from the GPU to page-locked memory: the data of each is there when the
// program learns, in any of the ways, that the copy is complete, and a later copy has not
// overwritten it.
#include <sched.h>

#include "tests/programs/driver.h"

enum { WORDS = 1 << 15, MANY = 300, LARGE_WORDS = 8 << 20 };

static CUdeviceptr device;
static uint32_t *memory; // page-locked

static void copy_word(unsigned word, uint32_t value, CUstream stream)
{
    CHECK(cuMemsetD32Async(device + word * 4, value, 1, stream));
    CHECK(cuMemcpyDtoHAsync(&memory[word], device + word * 4, 4, stream));
}

static void many_at_once(CUstream stream)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < MANY; i++)
        copy_word(i, 1000 + i, stream);
    CHECK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < MANY; i++)
        wrong += memory[i] != 1000 + i;
    is_int(wrong, 0, "%d copies that were not waited for are all there", MANY);
}

// A large copy takes another way than a small one.
static void to_one_place(CUstream stream)
{
    unsigned wrong = 0;
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 5; i++)
            copy_word(0, round * 100 + i, stream);
        CHECK(cuMemcpyDtoHAsync(memory, device, WORDS * 4, stream));
        if (round % 2)
            copy_word(0, round * 100 + 50, stream);
        CHECK(cuStreamSynchronize(stream));
        wrong += memory[0] != round * 100 + (round % 2 ? 50 : 4);
    }
    is_int(wrong, 0, "of small and large copies to one place the last one stays");
}

static void between_streams(CUstream first, CUstream second)
{
    CUevent event;
    unsigned wrong = 0;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 0; i < 50; i++) {
        copy_word(7, i, first);
        CHECK(cuEventRecord(event, first));
        CHECK(cuStreamWaitEvent(second, event, 0));
        copy_word(7, 100 + i, second);
        CHECK(cuStreamSynchronize(second));
        wrong += memory[7] != 100 + i;
    }
    is_int(wrong, 0, "also where the two are in streams of which one waits for the other");
    CHECK(cuEventDestroy(event));
}

static void by_asking(CUstream stream)
{
    CUevent event;
    unsigned wrong = 0;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 0; i < 50; i++) {
        copy_word(3, 7000 + i, stream);
        CHECK(cuEventRecord(event, stream));
        while (i % 2 ? cuEventQuery(event) != CUDA_SUCCESS : cuStreamQuery(stream) != CUDA_SUCCESS)
            sched_yield();
        wrong += memory[3] != 7000 + i;
    }
    is_int(wrong, 0, "a query that succeeds finds the data");
    CHECK(cuEventDestroy(event));
}

static void CUDA_CB look(void *seen)
{
    *(uint32_t *)seen = memory[5];
}

static void by_host_function(CUstream stream)
{
    uint32_t seen = 0;
    copy_word(5, 4711, stream);
    CHECK(cuLaunchHostFunc(stream, look, &seen));
    CHECK(cuStreamSynchronize(stream));
    is_int(seen, 4711, "a host function finds it");
}

// The program polls its memory without a call, so the box does not know that it waits.
static void by_looking(CUstream stream)
{
    volatile uint32_t *word = &memory[9];
    *word = 0;
    for (uint32_t i = 1; i <= 5; i++) {
        copy_word(9, i, stream);
        while (*word != i)
            sched_yield();
    }
    is_int(*word, 5, "a program that only looks at its memory finds it there in the end");
}

static void beside_a_held_stream(const struct gpu *gpu, CUstream held, CUstream other)
{
    memory[15] = memory[16] = 0;
    struct hold hold = hold_stream(gpu, held);
    copy_word(15, 1, held);
    copy_word(16, 2, other);
    CHECK(cuStreamSynchronize(other));
    ok(memory[16] == 2 && memory[15] == 0, "one behind work that goes on holds up no other");
    hold_release(&hold);
    CHECK(cuStreamSynchronize(held));
    is_int(memory[15], 1, "and comes when that is over");
}

static void written_on(CUstream stream)
{
    uint32_t back = 0;
    copy_word(11, 99, stream);
    CHECK(cuMemcpyHtoDAsync(device + 12 * 4, &memory[11], 4, stream));
    CHECK(cuMemcpyDtoH(&back, device + 12 * 4, 4));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH(&back, device + 12 * 4, 4));
    is_int(back, 99, "a copy of it to the GPU has what came");
}

static void behind_a_context(const struct gpu *gpu)
{
    CUcontext context;
    CUdeviceptr there;
    CHECK(cuCtxCreate_v2(&context, 0, gpu->device));
    CHECK(cuMemAlloc(&there, 64));
    memory[13] = 0;
    CHECK(cuMemsetD32Async(there, 31, 16, NULL));
    CHECK(cuMemcpyDtoHAsync(&memory[13], there, 4, NULL));
    CHECK(cuCtxDestroy(context));
    is_int(memory[13], 31, "when its context has ended it is there");
}

// The context ends long before such a copy.
static void large_behind_a_context(const struct gpu *gpu)
{
    CUcontext context;
    CUdeviceptr there;
    uint32_t *here;
    CHECK(cuMemAllocHost((void **)&here, LARGE_WORDS * 4));
    here[0] = here[LARGE_WORDS - 1] = 0;
    CHECK(cuCtxCreate_v2(&context, 0, gpu->device));
    CHECK(cuMemAlloc(&there, LARGE_WORDS * 4));
    CHECK(cuMemsetD32Async(there, 37, LARGE_WORDS, NULL));
    CHECK(cuMemcpyDtoHAsync(here, there, LARGE_WORDS * 4, NULL));
    CHECK(cuCtxDestroy(context));
    ok(here[0] == 37 && here[LARGE_WORDS - 1] == 37, "and so is all of a large one");
    CHECK(cuMemFreeHost(here));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream first, second;
    CHECK(cuMemAllocHost((void **)&memory, WORDS * 4));
    device = device_alloc(WORDS * 4);
    CHECK(cuMemsetD32(device, 0, WORDS));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    many_at_once(first);
    to_one_place(first);
    between_streams(first, second);
    by_asking(second);
    by_host_function(first);
    by_looking(second);
    beside_a_held_stream(&gpu, first, second);
    written_on(first);
    behind_a_context(&gpu);
    large_behind_a_context(&gpu);
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuMemFreeHost(memory));
    close_gpu(&gpu);
    return done();
}

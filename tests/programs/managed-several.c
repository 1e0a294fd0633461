// SPDX-License-Identifier: BSD-3-Clause
// Managed memory and two GPUs that can access each other's memory. The host and both GPUs use
// memory allocated on either GPU by turns, with prefetches, in streams of both, and in threads with
// one GPU each.
#include "tests/programs/driver.h"

#include <pthread.h>

enum { SIZE = 5 * 65536 + 4096, WORDS = SIZE / 4, TURNS = 4 };

static struct gpu gpu[2];
static CUstream stream[2];

static void on(int device)
{
    CHECK(cuCtxSetCurrent(gpu[device].context));
}

static uint32_t *take(int device)
{
    CUdeviceptr address;
    on(device);
    CHECK(cuMemAllocManaged(&address, SIZE, CU_MEM_ATTACH_GLOBAL));
    return (uint32_t *)(uintptr_t)address;
}

static void give(uint32_t *words)
{
    CHECK(cuMemFree((CUdeviceptr)(uintptr_t)words));
}

static void add(int device, uint32_t *words, uint32_t value)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words;
    uint32_t count = WORDS;
    on(device);
    launch(kernel(&gpu[device], "add"), 32, 128, stream[device], &address, &value, &count);
}

static unsigned wrong_words(const uint32_t *words, uint32_t base)
{
    unsigned wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += words[i] != base + i;
    return wrong;
}

static void fill(uint32_t *words)
{
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i;
}

static void by_turns(int owner)
{
    uint32_t *words = take(owner), want = 0;
    fill(words);
    unsigned wrong = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int device = 0; device < 2; device++) {
            add(device, words, 10);
            CHECK(cuStreamSynchronize(stream[device]));
            want += 10;
            if (turn % 2)
                wrong += wrong_words(words, want);
        }
        for (uint32_t i = turn; i < WORDS; i += 7)
            words[i]++;
        for (uint32_t i = turn; i < WORDS; i += 7)
            words[i]--;
    }
    is_int(wrong + wrong_words(words, want), 0,
           "memory of GPU %d: the host and both GPUs use it by turns", owner);
    give(words);
}

// One GPU goes on where the other one ends, without the host.
static void one_after_the_other(int owner)
{
    uint32_t *words = take(owner);
    CUevent done[2];
    fill(words);
    for (int device = 0; device < 2; device++) {
        on(device);
        CHECK(cuEventCreate(&done[device], CU_EVENT_DISABLE_TIMING));
    }
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        int device = turn % 2;
        on(device);
        if (turn)
            CHECK(cuStreamWaitEvent(stream[device], done[!device], 0));
        add(device, words, 1);
        CHECK(cuEventRecord(done[device], stream[device]));
    }
    CHECK(cuEventSynchronize(done[1]));
    is_int(wrong_words(words, 2 * TURNS), 0,
           "memory of GPU %d: each GPU goes on where the other one ended", owner);
    for (int device = 0; device < 2; device++)
        CHECK(cuEventDestroy(done[device]));
    give(words);
}

static void moved_ahead(void)
{
    uint32_t *words = take(0);
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words;
    int last = -9;
    fill(words);
    on(1);
    CUresult result = cuMemPrefetchAsync_v2(
        address, SIZE, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, gpu[1].device}, 0, stream[1]);
    ok(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_DEVICE,
       "it is moved to the second GPU, or that is refused as of such devices");
    add(1, words, 5);
    CHECK(cuStreamSynchronize(stream[1]));
    on(0);
    if (result == CUDA_SUCCESS) {
        CHECK(cuMemRangeGetAttribute(&last, sizeof(last),
                                     CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, SIZE));
        is_int(last, gpu[1].device, "which is told");
        CHECK(cuMemPrefetchAsync_v2(address, SIZE, (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}, 0,
                                    stream[0]));
    }
    CHECK(cuStreamSynchronize(stream[0]));
    is_int(wrong_words(words, 5), 0, "nothing is lost by that");
    give(words);
}

// Attached to a stream of the second GPU, it is the host's while the first one works.
static void attached(void)
{
    uint32_t *words = take(1);
    on(1);
    CHECK(
        cuStreamAttachMemAsync(stream[1], (CUdeviceptr)(uintptr_t)words, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamSynchronize(stream[1]));
    on(0);
    struct hold hold = hold_stream(&gpu[0], stream[0]);
    fill(words);
    add(1, words, 3);
    CHECK(cuStreamSynchronize(stream[1]));
    is_int(wrong_words(words, 3), 0,
           "what is a stream's alone is the host's while another GPU works");
    on(0);
    hold_release(&hold);
    CHECK(cuStreamSynchronize(stream[0]));
    on(1);
    give(words);
}

struct worker {
    pthread_t thread;
    int device;
    unsigned wrong;
    CUresult failure;
};

static void *work_alone(void *argument)
{
    struct worker *job = argument;
    CUdeviceptr address;
    uint32_t count = WORDS, two = 2;
    CUstream mine;
    JOB_TRY(cuCtxSetCurrent(gpu[job->device].context));
    JOB_TRY(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
    JOB_TRY(cuMemAllocManaged(&address, SIZE, CU_MEM_ATTACH_GLOBAL));
    uint32_t *words = (uint32_t *)(uintptr_t)address;
    fill(words);
    for (uint32_t turn = 1; turn <= TURNS; turn++) {
        JOB_TRY(cuLaunchKernel(kernel(&gpu[job->device], "add"), 32, 1, 1, 128, 1, 1, 0, mine,
                               (void *[]){&address, &two, &count}, NULL));
        JOB_TRY(cuStreamSynchronize(mine));
        job->wrong += wrong_words(words, 2 * turn);
    }
    JOB_TRY(cuMemFree(address));
    JOB_TRY(cuStreamDestroy(mine));
    return NULL;
}

static void threads_of_their_own(void)
{
    struct worker workers[2] = {{.device = 0}, {.device = 1}};
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i].thread, NULL, work_alone, &workers[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(workers[i].thread, NULL);
        ok(!workers[i].failure && !workers[i].wrong,
           "a thread of GPU %d alone (result %d, %u wrong)", i, workers[i].failure,
           workers[i].wrong);
    }
}

int main(void)
{
    int reach = 0;
    need_two_devices();
    for (int device = 0; device < 2; device++) {
        gpu[device] = open_gpu(device);
        CHECK(cuStreamCreate(&stream[device], CU_STREAM_NON_BLOCKING));
    }
    CHECK(cuDeviceCanAccessPeer(&reach, gpu[0].device, gpu[1].device));
    if (!reach)
        skip_all("the GPUs do not reach each other's memory");
    for (int device = 0; device < 2; device++) {
        on(device);
        CHECK(cuCtxEnablePeerAccess(gpu[!device].context, 0));
    }
    for (int owner = 0; owner < 2; owner++) {
        by_turns(owner);
        one_after_the_other(owner);
    }
    moved_ahead();
    attached();
    threads_of_their_own();
    return done();
}

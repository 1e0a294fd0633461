// SPDX-License-Identifier: BSD-3-Clause
// Eight threads that share one context: their own streams, one another's effects, and a thread
// that blocks without stopping the others.
#include <pthread.h>
#include <stdatomic.h>

#include "tests/programs/driver.h"

#define THREADS 8
#define ROUNDS 20
#define N 4000u

static struct gpu gpu;

struct job {
    pthread_t thread;
    int number;
    unsigned wrong;
    CUresult failure;
};

static void *work(void *argument)
{
    struct job *job = argument;
    CUstream stream;
    CUdeviceptr data;
    CUfunction add;
    unsigned n = N;
    uint32_t *buffer = must_alloc(N * 4);
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    JOB_TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    JOB_TRY(cuModuleGetFunction(&add, gpu.module, "add"));
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned value = (unsigned)job->number * 1000 + round;
        for (unsigned i = 0; i < N; i++)
            buffer[i] = i;
        JOB_TRY(cuMemAlloc(&data, N * 4));
        JOB_TRY(cuMemcpyHtoDAsync(data, buffer, N * 4, stream));
        JOB_TRY(cuLaunchKernel(add, 2, 1, 1, 128, 1, 1, 0, stream, (void *[]){&data, &value, &n},
                               NULL));
        JOB_TRY(cuMemcpyDtoHAsync(buffer, data, N * 4, stream));
        JOB_TRY(cuStreamSynchronize(stream));
        for (unsigned i = 0; i < N; i++)
            job->wrong += buffer[i] != i + value;
        JOB_TRY(cuMemFree(data));
    }
    JOB_TRY(cuStreamDestroy(stream));
    free(buffer);
    return NULL;
}

static void all_at_once(void)
{
    struct job jobs[THREADS] = {0};
    unsigned wrong = 0, failed = 0;
    for (int i = 0; i < THREADS; i++) {
        jobs[i].number = i;
        if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]))
            bail("pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        wrong += jobs[i].wrong;
        failed += jobs[i].failure != CUDA_SUCCESS;
        if (jobs[i].failure)
            diag("thread %d: %s", i, result_name(jobs[i].failure));
    }
    is_int(failed, 0, "no call of %d threads failed", THREADS);
    is_int(wrong, 0, "every thread got its own numbers");
}

// A baton goes from thread to thread; each adds one on a stream that all share.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn;
    CUstream stream;
    CUdeviceptr data;
    unsigned wrong;
} baton = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *relay(void *argument)
{
    struct job *job = argument;
    unsigned n = 1, one = 1;
    CUfunction add;
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    JOB_TRY(cuModuleGetFunction(&add, gpu.module, "add"));
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t got = 0;
        pthread_mutex_lock(&baton.lock);
        while (baton.turn % THREADS != job->number)
            pthread_cond_wait(&baton.changed, &baton.lock);
        job->failure = cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, baton.stream,
                                      (void *[]){&baton.data, &one, &n}, NULL);
        if (!job->failure && baton.turn % 5 == 0) {
            job->failure = cuMemcpyDtoHAsync(&got, baton.data, 4, baton.stream);
            if (!job->failure)
                job->failure = cuStreamSynchronize(baton.stream);
            baton.wrong += got != (unsigned)baton.turn + 1;
        }
        baton.turn++;
        pthread_cond_broadcast(&baton.changed);
        pthread_mutex_unlock(&baton.lock);
    }
    return NULL;
}

static void effects_are_seen(void)
{
    struct job jobs[THREADS] = {0};
    uint32_t got = 0;
    unsigned failed = 0;
    baton.data = device_alloc(4);
    CHECK(cuStreamCreate(&baton.stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32(baton.data, 0, 1));
    CHECK(cuCtxSynchronize());
    for (int i = 0; i < THREADS; i++) {
        jobs[i].number = i;
        if (pthread_create(&jobs[i].thread, NULL, relay, &jobs[i]))
            bail("pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        failed += jobs[i].failure != CUDA_SUCCESS;
    }
    CHECK(cuStreamSynchronize(baton.stream));
    CHECK(cuMemcpyDtoH(&got, baton.data, 4));
    is_int(failed, 0, "no call of the relay failed");
    is_int(baton.wrong, 0, "a thread sees what another's call did before it returned");
    is_int(got, THREADS * ROUNDS, "every addition of the relay was made");
    CHECK(cuStreamDestroy(baton.stream));
    CHECK(cuMemFree(baton.data));
}

static atomic_int waiting_is_over;

static void *wait_long(void *argument)
{
    struct job *job = argument;
    CUstream stream = *(CUstream *)&baton.stream;
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    JOB_TRY(cuStreamSynchronize(stream));
    atomic_store(&waiting_is_over, 1);
    return NULL;
}

static void blocked_thread_stops_no_other(void)
{
    struct job job = {0};
    CUstream other;
    unsigned n = N, one = 1, rounds = 0, wrong = 0;
    uint32_t *buffer = must_alloc(N * 4);
    CUdeviceptr data = device_alloc(N * 4);
    CUfunction add = kernel(&gpu, "add");
    CHECK(cuStreamCreate(&baton.stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    launch(kernel(&gpu, "empty"), 1, 1, other, NULL);
    CHECK(cuStreamSynchronize(other));
    struct hold hold = hold_stream(&gpu, baton.stream);
    if (pthread_create(&job.thread, NULL, wait_long, &job))
        bail("pthread_create");
    while (!atomic_load(&waiting_is_over) && rounds < 5) {
        memset(buffer, 0, N * 4);
        CHECK(cuMemcpyHtoDAsync(data, buffer, N * 4, other));
        launch(add, 2, 128, other, &data, &one, &n);
        CHECK(cuMemcpyDtoHAsync(buffer, data, N * 4, other));
        CHECK(cuStreamSynchronize(other));
        for (unsigned i = 0; i < N; i++)
            wrong += buffer[i] != 1;
        rounds += !atomic_load(&waiting_is_over);
    }
    ok(rounds >= 5, "while one thread waits for its stream, another works on");
    if (rounds < 5)
        diag("only %u rounds", rounds);
    is_int(wrong, 0, "and gets right results");
    hold_release(&hold);
    pthread_join(job.thread, NULL);
    is_int(job.failure, CUDA_SUCCESS, "the waiting thread gets its answer too");
    CHECK(cuStreamDestroy(baton.stream));
    CHECK(cuStreamDestroy(other));
    CHECK(cuMemFree(data));
    free(buffer);
}

int main(void)
{
    gpu = open_gpu(0);
    all_at_once();
    effects_are_seen();
    blocked_thread_stops_no_other();
    close_gpu(&gpu);
    return done();
}

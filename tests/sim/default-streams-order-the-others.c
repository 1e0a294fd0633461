// SPDX-License-Identifier: BSD-3-Clause
// The legacy default stream waits for blocking streams and they for it; streams made with
// NON_BLOCKING stay out of that; a thread's default stream is an ordinary blocking one.
#include "tests/sim/sim_test.h"

static uint32_t *gate;
static struct sim_trace trace;
static struct sim_mark mark = {&trace, 1};

// Closes a stream, gives work to another, and says whether that ran before the gate opened. Work
// that is free to run is waited for as long as a loaded machine may need.
static bool runs_within(CUstream held, CUstream probe, int timeout_ms)
{
    bool ran = false;
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    atomic_store(&trace.count, 0);
    sim_close_gate(held, gate);
    CHECK(cuLaunchHostFunc(probe, sim_note, &mark));
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < timeout_ms && !ran; i++) {
        ran = atomic_load(&trace.count) == 1;
        nanosleep(&pause, NULL);
    }
    sim_open_gate(gate);
    CHECK(cuCtxSynchronize());
    is_int(atomic_load(&trace.count), 1, "the work was done in the end");
    return ran;
}

static bool runs_meanwhile(CUstream held, CUstream probe)
{
    return runs_within(held, probe, 60000);
}

static bool is_held(CUstream held, CUstream probe)
{
    return !runs_within(held, probe, 100);
}

int main(void)
{
    sim_isolate("1", "1G");
    sim_context(0);
    gate = sim_word();
    CUstream blocking = sim_stream(CU_STREAM_DEFAULT), second = sim_stream(CU_STREAM_DEFAULT);
    CUstream free_stream = sim_stream(CU_STREAM_NON_BLOCKING);

    ok(is_held(blocking, NULL), "the default stream waits for a blocking stream");
    ok(is_held(NULL, blocking), "a blocking stream waits for the default stream");
    ok(runs_meanwhile(blocking, second), "blocking streams do not wait for each other");
    ok(runs_meanwhile(free_stream, NULL), "the default stream does not wait for non-blocking ones");
    ok(runs_meanwhile(NULL, free_stream), "nor the other way round");
    ok(is_held(NULL, CU_STREAM_LEGACY), "NULL and the legacy handle are one stream");
    ok(is_held(CU_STREAM_LEGACY, CU_STREAM_PER_THREAD),
       "a thread's default stream waits for the legacy one");
    ok(is_held(CU_STREAM_PER_THREAD, NULL), "and the legacy one for it");
    ok(runs_meanwhile(blocking, CU_STREAM_PER_THREAD), "but not for other streams");

    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    sim_close_gate(blocking, gate);
    gives(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY,
          "the default stream is not ready while a blocking stream is busy");
    gives(cuStreamQuery_ptsz(NULL), CUDA_SUCCESS, "in the per-thread form NULL is another stream");
    sim_open_gate(gate);
    gives(cuStreamSynchronize(NULL), CUDA_SUCCESS, "waiting for the default stream");
    gives(cuStreamQuery(blocking), CUDA_SUCCESS, "waits for the blocking ones");

    unsigned long long legacy, thread, again;
    CHECK(cuStreamGetId(NULL, &legacy));
    CHECK(cuStreamGetId(CU_STREAM_PER_THREAD, &thread));
    CHECK(cuStreamGetId(CU_STREAM_LEGACY, &again));
    ok(legacy == again && legacy != thread, "ids tell the default streams apart");
    return done();
}

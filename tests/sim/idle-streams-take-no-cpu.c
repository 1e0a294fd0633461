// SPDX-License-Identifier: BSD-3-Clause
// A device with many streams that have nothing to do, or wait for a value, does not keep the CPU
// busy.
#include <sys/resource.h>

#include "tests/sim/sim_test.h"

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double cpu_of_half_a_second(void)
{
    struct timespec pause = {.tv_nsec = 500000000};
    double before = cpu_seconds();
    nanosleep(&pause, NULL);
    return cpu_seconds() - before;
}

int main(void)
{
    struct sim_trace trace = {0};
    struct sim_mark mark = {&trace, 1};
    sim_isolate("1", "256M");
    sim_context(0);
    uint32_t *gate = sim_word();
    CUstream streams[32];
    for (int i = 0; i < 32; i++) {
        streams[i] = sim_stream(CU_STREAM_NON_BLOCKING);
        CHECK(cuLaunchHostFunc(streams[i], sim_note, &mark));
    }
    CHECK(cuCtxSynchronize());
    double idle = cpu_of_half_a_second();
    ok(idle < 0.02, "32 idle streams take %.1f %% of a core", idle * 200);
    sim_close_gate(streams[0], gate);
    double waiting = cpu_of_half_a_second();
    ok(waiting < 0.1, "one that waits for a value takes %.1f %%", waiting * 200);
    sim_open_gate(gate);
    gives(cuStreamSynchronize(streams[0]), CUDA_SUCCESS, "and is let go in the end");
    return done();
}

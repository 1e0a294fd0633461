// SPDX-License-Identifier: BSD-3-Clause
// Work of one stream runs in order, work of different streams does not wait for each other, and
// the calls return before the work is done.
#include "tests/sim/sim_test.h"

int main(void)
{
    sim_isolate("1", "1G");
    sim_context(0);
    uint32_t *gate = sim_word();
    CUstream held = sim_stream(CU_STREAM_NON_BLOCKING), other = sim_stream(CU_STREAM_NON_BLOCKING);
    struct sim_trace trace = {0};
    struct sim_mark marks[32];

    sim_close_gate(held, gate);
    for (int i = 0; i < 16; i++) {
        marks[i] = (struct sim_mark){&trace, i};
        CHECK(cuLaunchHostFunc(held, sim_note, &marks[i]));
    }
    gives(cuStreamQuery(held), CUDA_ERROR_NOT_READY, "a held stream is not ready");
    is_int(atomic_load(&trace.count), 0, "and has not run what is behind the gate");

    for (int i = 16; i < 32; i++) {
        marks[i] = (struct sim_mark){&trace, i};
        CHECK(cuLaunchHostFunc(other, sim_note, &marks[i]));
    }
    gives(cuStreamSynchronize(other), CUDA_SUCCESS, "another stream comes to its end meanwhile");
    is_int(atomic_load(&trace.count), 16, "with all of its work done");

    sim_open_gate(gate);
    gives(cuStreamSynchronize(held), CUDA_SUCCESS, "the held stream goes on when the gate opens");
    bool ordered = atomic_load(&trace.count) == 32;
    for (int i = 0; i < 32 && ordered; i++)
        ordered = trace.order[i] == (i < 16 ? i + 16 : i - 16);
    ok(ordered, "each stream ran its work in the order of the calls");
    gives(cuStreamQuery(held), CUDA_SUCCESS, "and is ready then");

    // A stream that is destroyed still does its work, and the context still waits for it.
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    sim_close_gate(held, gate);
    atomic_store(&trace.count, 0);
    CHECK(cuLaunchHostFunc(held, sim_note, &marks[0]));
    gives(cuStreamDestroy(held), CUDA_SUCCESS, "destroying a busy stream returns at once");
    gives(cuStreamQuery(held), CUDA_ERROR_CONTEXT_IS_DESTROYED, "its handle is gone");
    sim_open_gate(gate);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "the context waits for its work");
    is_int(atomic_load(&trace.count), 1, "which was done");
    return done();
}

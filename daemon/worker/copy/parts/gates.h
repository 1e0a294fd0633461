// SPDX-License-Identifier: BSD-3-Clause
// Gates: words of memory at which streams of the GPU wait until data have moved (stream
// semaphores), and the exclusion between gates and calls that drain the GPU.
//
// Some calls of a driver (freeing memory, loading and unloading code) wait inside for all work of
// the context, and let no other thread queue work meanwhile. If a stream waited at a gate then, the
// copy after which the GPU opens that gate could not be queued: a deadlock. So a request enters
// before it holds a stream, and counts as inside until its gates are released. A draining call
// waits until no request is inside, and keeps new ones out until it returns.
#ifndef RGPU_WORKER_GATES_H
#define RGPU_WORKER_GATES_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// The party that opens a gate: a copy of the worker, or a request of the client.
enum gate_opener { GATE_OF_COPY, GATE_OF_CLIENT };

// The right to take gates. It is asked for before any lock is taken, as it may have to wait for a
// call that drains, and is given back where its scope ends:
//     GATE_PASS(pass);
struct gate_pass {
    bool inside; // always: to have one is what counts
};
struct gate_pass gates_enter(void);
void gates_leave(const struct gate_pass *pass);
#define GATE_PASS(name) \
    __attribute__((cleanup(gates_leave))) const struct gate_pass name = gates_enter()

// A closed gate of the caller's, to be released when it is open; -1: all are in use.
int gate_take(const struct gate_pass *pass, enum gate_opener opener, uint32_t *ticket);
void gate_release(int gate);
CUresult gate_hold(CUstream stream, int gate, uint32_t ticket);
// Takes a gate for a copy and holds STREAM there. *GATE is -1 after a failure.
CUresult gate_stop(const struct gate_pass *pass, CUstream stream, int *gate, uint32_t *ticket);
CUresult gate_open_from(CUstream stream, int gate, uint32_t ticket); // by the GPU, in stream order
void gate_open(int gate, uint32_t ticket);                           // by us
bool gate_is_open(int gate, uint32_t ticket);

// Bracket a call that drains. gates_ask_drain() does not wait; if it returns false,
// gates_await_drain() must return before the call.
struct gate_drain {
    bool asked;
    uint64_t most; // number of the last gate of the client's that there was
};
bool gates_ask_drain(struct gate_drain *drain) __attribute__((warn_unused_result));
void gates_await_drain(const struct gate_drain *drain);
void gates_drained(void);

#endif

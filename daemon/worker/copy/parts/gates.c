// SPDX-License-Identifier: BSD-3-Clause
// Gates, and the exclusion of those who hold streams by those who drain the GPU.
#include "daemon/worker/copy/parts/gates.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/scope.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "worker_driver.h"

// One that the client opens has a number, by the order in which they were taken; else 0. Gate 0
// stands for none.
static struct gate {
    uint32_t ticket; // the value that its last user waits for
    unsigned before,
        after; // of the client's that are taken, by number; or the next free one, in `after`
    uint64_t number;
} gates[GATES]; // under lock, as what follows is
static unsigned never_taken = 1, first_free;
static unsigned oldest, newest; // of the client's that are taken
static uint64_t last_number;

// `inside`: requests that may take gates, and gates that are taken. `drains`: calls that drain, or
// wait until `inside` is 0. Each side adds itself before it reads the other counter, so one of them
// sees the other.
static _Atomic unsigned inside, drains;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;    // somebody is no longer inside
static pthread_cond_t drained = PTHREAD_COND_INITIALIZER; // no call drains any more

// ---- who holds and who drains ----

static void leave(void)
{
    if (atomic_fetch_sub(&inside, 1) > 1 || !atomic_load(&drains))
        return;
    SCOPED_LOCK(&lock);
    pthread_cond_broadcast(&left);
}

// This thread may be the one that reads the link, and what opens the gates that are waited for may
// come over it, or the news that the client is gone: so another reads on meanwhile.
static void await_end_of_drains(void)
{
    expected_add();
    {
        SCOPED_LOCK(&lock);
        while (atomic_load(&drains))
            pthread_cond_wait(&drained, &lock);
        atomic_fetch_add(&inside, 1);
    }
    expected_came();
}

struct gate_pass gates_enter(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&drains)) {
        leave();
        await_end_of_drains();
    }
    return (struct gate_pass){.inside = true};
}

void gates_leave(const struct gate_pass *pass)
{
    leave();
}

static bool client_holds(uint64_t most)
{
    return oldest && gates[oldest].number <= most;
}

// A gate that the client opens may stay closed until its program acts, and the program may need a
// copy to this GPU first. So a drain waits for the gates that were taken before it while other
// requests go on; a GPU's own driver would block all threads that queue work. For gates that are
// taken later, the drain keeps new requests out, else a program that always has one would never
// free memory. These gates wait only for work that was queued before, so no excluded request is
// needed.
bool gates_ask_drain(struct gate_drain *drain)
{
    SCOPED_LOCK(&lock);
    drain->most = last_number;
    drain->asked = !client_holds(drain->most);
    if (drain->asked)
        atomic_fetch_add(&drains, 1);
    return drain->asked && !atomic_load(&inside);
}

// The awaited data may come over the link, so another thread must read it.
void gates_await_drain(const struct gate_drain *drain)
{
    expected_add();
    {
        SCOPED_LOCK(&lock);
        while (!drain->asked && client_holds(drain->most))
            pthread_cond_wait(&left, &lock);
        if (!drain->asked)
            atomic_fetch_add(&drains, 1);
        while (atomic_load(&inside))
            pthread_cond_wait(&left, &lock);
    }
    expected_came();
}

void gates_drained(void)
{
    SCOPED_LOCK(&lock);
    if (atomic_fetch_sub(&drains, 1) == 1)
        pthread_cond_broadcast(&drained);
}

// ---- gates ----

static int find_free(void)
{
    unsigned gate = first_free;
    if (!gate)
        return never_taken < GATES ? (int)never_taken++ : -1;
    first_free = gates[gate].after;
    return (int)gate;
}

static void add_to_client(unsigned gate)
{
    gates[gate].number = ++last_number;
    gates[gate].before = newest;
    gates[gate].after = 0;
    *(newest ? &gates[newest].after : &oldest) = gate;
    newest = gate;
}

static void take_from_client(const struct gate *gate)
{
    *(gate->before ? &gates[gate->before].after : &oldest) = gate->after;
    *(gate->after ? &gates[gate->after].before : &newest) = gate->before;
}

int gate_take(const struct gate_pass *pass, enum gate_opener opener, uint32_t *ticket)
{
    SCOPED_LOCK(&lock);
    int gate = find_free();

    if (gate < 0)
        return gate;
    atomic_fetch_add(&inside, 1);
    gates[gate].number = 0;
    if (opener == GATE_OF_CLIENT)
        add_to_client((unsigned)gate);
    *ticket = ++gates[gate].ticket;
    return gate;
}

void gate_release(int gate)
{
    SCOPED_LOCK(&lock);
    if (gates[gate].number)
        take_from_client(&gates[gate]);
    gates[gate].after = first_free;
    first_free = (unsigned)gate;
    atomic_fetch_sub(&inside, 1);
    pthread_cond_broadcast(&left);
}

CUresult gate_hold(CUstream stream, int gate, uint32_t ticket)
{
    if (!driver.cuStreamWaitValue32_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    // "Greater or equal" counts around, and a gate that is used again has a higher ticket, so a
    // stream that has not yet seen its gate open is not held up by the next user.
    return driver.cuStreamWaitValue32_v2(stream, pinned.gates_device + (size_t)gate * 4, ticket,
                                         CU_STREAM_WAIT_VALUE_GEQ);
}

CUresult gate_stop(const struct gate_pass *pass, CUstream stream, int *gate, uint32_t *ticket)
{
    *gate = gate_take(pass, GATE_OF_COPY, ticket);
    if (*gate < 0)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    CUresult result = gate_hold(stream, *gate, *ticket);
    if (result != CUDA_SUCCESS) {
        gate_release(*gate);
        *gate = -1;
    }
    return result;
}

CUresult gate_open_from(CUstream stream, int gate, uint32_t ticket)
{
    if (!driver.cuStreamWriteValue32_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuStreamWriteValue32_v2(stream, pinned.gates_device + (size_t)gate * 4, ticket,
                                          CU_STREAM_WRITE_VALUE_DEFAULT);
}

void gate_open(int gate, uint32_t ticket)
{
    atomic_store_explicit(&pinned.gates[gate], ticket, memory_order_release);
}

bool gate_is_open(int gate, uint32_t ticket)
{
    uint32_t now = atomic_load_explicit(&pinned.gates[gate], memory_order_acquire);

    return (int32_t)(now - ticket) >= 0;
}

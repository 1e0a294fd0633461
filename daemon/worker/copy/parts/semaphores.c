// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/parts/semaphores.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/scope.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "worker_driver.h"

// Semaphore 0 stands for none.
static struct semaphore {
    uint32_t value; // the value that its last user waits for
    // The neighbours in the list of semaphores that the client signals; `after`: the next free one.
    unsigned before, after;
    uint64_t number;      // of those that the client signals, in the order of taking; else 0
} semaphores[SEMAPHORES]; // under lock, as are the following
static unsigned never_taken = 1, first_free;
static unsigned oldest, newest; // ends of the list of semaphores that the client signals
static uint64_t last_number;

// `inside`: requests that may take semaphores, and semaphores that are taken. `syncs`: calls that
// synchronize implicitly, or wait until `inside` is 0. Each side adds itself before it reads the
// other counter, so one of them sees the other.
static _Atomic unsigned inside, syncs;
static _Atomic unsigned kept_out; // requests that wait until `syncs` is 0
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER; // `inside` has fallen
static pthread_cond_t syncs_ended = PTHREAD_COND_INITIALIZER;

// ---- exclusion ----

static void leave(void)
{
    if (atomic_fetch_sub(&inside, 1) > 1 || !atomic_load(&syncs))
        return;
    SCOPED_LOCK(&lock);
    pthread_cond_broadcast(&left);
}

// The data after which the semaphores are signalled may come over the link, as may the news that
// the client is gone. This thread may be the one that reads the link, so another one reads
// meanwhile.
static void await_end_of_syncs(void)
{
    expected_add();
    atomic_fetch_add(&kept_out, 1);
    {
        SCOPED_LOCK(&lock);
        while (atomic_load(&syncs))
            pthread_cond_wait(&syncs_ended, &lock);
        atomic_fetch_add(&inside, 1);
        atomic_fetch_sub(&kept_out, 1);
    }
    expected_came();
}

unsigned semaphores_waiting(void)
{
    return atomic_load(&kept_out);
}

struct semaphore_pass semaphores_enter(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&syncs)) {
        leave();
        await_end_of_syncs();
    }
    return (struct semaphore_pass){.inside = true};
}

void semaphores_leave(const struct semaphore_pass *pass)
{
    leave();
}

static bool client_holds(uint64_t most)
{
    return oldest && semaphores[oldest].number <= most;
}

// A semaphore that the client signals may stay unsignalled until its program acts, and the program
// may need a copy to this GPU first. So the call waits for the semaphores that were taken before it
// while other requests go on; the driver itself would block all threads that queue work. After
// that, new requests are kept out, else a program that always holds a semaphore would never free
// memory. Later semaphores wait only for work that was queued before, so no excluded request is
// needed.
bool semaphores_ask_sync(struct semaphore_sync *sync)
{
    SCOPED_LOCK(&lock);
    sync->most = last_number;
    sync->asked = !client_holds(sync->most);
    if (sync->asked)
        atomic_fetch_add(&syncs, 1);
    return sync->asked && !atomic_load(&inside);
}

// The awaited data may come over the link, so another thread must read it.
void semaphores_await_sync(const struct semaphore_sync *sync)
{
    expected_add();
    {
        SCOPED_LOCK(&lock);
        while (!sync->asked && client_holds(sync->most))
            pthread_cond_wait(&left, &lock);
        if (!sync->asked)
            atomic_fetch_add(&syncs, 1);
        while (atomic_load(&inside))
            pthread_cond_wait(&left, &lock);
    }
    expected_came();
}

void semaphores_sync_ended(void)
{
    SCOPED_LOCK(&lock);
    if (atomic_fetch_sub(&syncs, 1) == 1)
        pthread_cond_broadcast(&syncs_ended);
}

// ---- semaphores ----

static int find_free(void)
{
    unsigned semaphore = first_free;
    if (!semaphore)
        return never_taken < SEMAPHORES ? (int)never_taken++ : -1;
    first_free = semaphores[semaphore].after;
    return (int)semaphore;
}

static void add_to_client(unsigned semaphore)
{
    semaphores[semaphore].number = ++last_number;
    semaphores[semaphore].before = newest;
    semaphores[semaphore].after = 0;
    *(newest ? &semaphores[newest].after : &oldest) = semaphore;
    newest = semaphore;
}

static void take_from_client(const struct semaphore *semaphore)
{
    *(semaphore->before ? &semaphores[semaphore->before].after : &oldest) = semaphore->after;
    *(semaphore->after ? &semaphores[semaphore->after].before : &newest) = semaphore->before;
}

int semaphore_take(const struct semaphore_pass *pass, enum semaphore_owner owner, uint32_t *value)
{
    SCOPED_LOCK(&lock);
    int semaphore = find_free();

    if (semaphore < 0)
        return semaphore;
    atomic_fetch_add(&inside, 1);
    semaphores[semaphore].number = 0;
    if (owner == SEMAPHORE_OF_CLIENT)
        add_to_client((unsigned)semaphore);
    *value = ++semaphores[semaphore].value;
    return semaphore;
}

void semaphore_release(int semaphore)
{
    SCOPED_LOCK(&lock);
    if (semaphores[semaphore].number)
        take_from_client(&semaphores[semaphore]);
    semaphores[semaphore].after = first_free;
    first_free = (unsigned)semaphore;
    atomic_fetch_sub(&inside, 1);
    pthread_cond_broadcast(&left);
}

CUresult semaphore_wait(CUstream stream, int semaphore, uint32_t value)
{
    if (!driver.cuStreamWaitValue32_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    // The comparison is cyclic, and each use of a semaphore has a higher value, so a stream that
    // has not yet seen the signal is not held up by the next user.
    return driver.cuStreamWaitValue32_v2(stream, pinned.semaphores_device + (size_t)semaphore * 4,
                                         value, CU_STREAM_WAIT_VALUE_GEQ);
}

CUresult semaphore_hold_stream(const struct semaphore_pass *pass, CUstream stream, int *semaphore,
                               uint32_t *value)
{
    *semaphore = semaphore_take(pass, SEMAPHORE_OF_COPY, value);
    if (*semaphore < 0)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    CUresult result = semaphore_wait(stream, *semaphore, *value);
    if (result != CUDA_SUCCESS) {
        semaphore_release(*semaphore);
        *semaphore = -1;
    }
    return result;
}

CUresult semaphore_signal_from(CUstream stream, int semaphore, uint32_t value)
{
    if (!driver.cuStreamWriteValue32_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuStreamWriteValue32_v2(stream, pinned.semaphores_device + (size_t)semaphore * 4,
                                          value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

void semaphore_signal(int semaphore, uint32_t value)
{
    atomic_store_explicit(&pinned.semaphores[semaphore], value, memory_order_release);
}

bool semaphore_is_signalled(int semaphore, uint32_t value)
{
    uint32_t now = atomic_load_explicit(&pinned.semaphores[semaphore], memory_order_acquire);

    return (int32_t)(now - value) >= 0;
}

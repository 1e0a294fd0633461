// SPDX-License-Identifier: BSD-3-Clause
// Waiting for flags.
#include "client-lib/cuda/copy/flags.h"

#include <stdatomic.h>
#include <time.h>

#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client_calls.h"
#include "common/base/clock.h"
#include "common/base/wait.h"

enum {
    DOZE_MIN_US = 50,
    DOZE_LONGEST_US = 100000,
    DOZE_MAX_US = 1000000, // time that a mebibyte takes
    DOZE_LIMIT_US = 2000,
};

// Sleeps until the flag is set; returns false if that takes far longer than usual. This is for
// boxes that write flags over a network: no event wakes the waiter, and a query of the box would
// wait for all work in the stream, with no data in transit meanwhile. The first sleep is the time
// that SIZE bytes usually take, since as much again is in transit after them; later ones are short.
static bool doze_for_flag(struct box_session *session, uint32_t index, uint32_t value,
                          uint32_t size)
{
    _Atomic uint32_t *us_per_mib = &session->blocks->us_per_mib;
    uint64_t usual = atomic_load(us_per_mib), expected = usual * size >> 20, waited = 0;
    uint64_t began = clock_us(), sleep = expected;
    unsigned int sleeps = 0;
    link_flush(session->link);
    while (!flag_reached(session, index, value)) {
        if (waited > 8 * expected + DOZE_LIMIT_US)
            return false;
        if (sleep < DOZE_MIN_US)
            sleep = DOZE_MIN_US;
        if (sleep > DOZE_LONGEST_US)
            sleep = DOZE_LONGEST_US;
        struct timespec pause = {.tv_nsec = (long)sleep * 1000};
        nanosleep(&pause, NULL);
        sleeps++;
        waited = clock_us() - began;
        sleep = waited / 4;
    }
    // After a single sleep that was too long, the real time is unknown: it may have been much
    // shorter.
    uint64_t took = sleeps > 1 ? waited : waited - waited / 8;
    usual = (3 * usual + (took << 20) / size) / 4;
    atomic_store(us_per_mib, usual < DOZE_MAX_US ? (uint32_t)usual : DOZE_MAX_US);
    return true;
}

static CUresult await_flag(struct box_session *session, uint32_t index, uint32_t value,
                           uint32_t size, CUstream stream)
{
    uint64_t until = 0;
    for (unsigned int spins = 0; !flag_reached(session, index, value); spins++) {
        cpu_relax();
        if (spins % 64 != 63)
            continue;
        uint64_t now = clock_us();
        if (!until)
            until = now + session->spin_us;
        if (now < until)
            continue;
        if (session->memory->flags_come_late && size && doze_for_flag(session, index, value, size))
            return CUDA_SUCCESS;
        CUresult result = remote_cuStreamSynchronize(stream);
        if (result == CUDA_ERROR_INVALID_HANDLE) // destroyed meanwhile; its work continues
            result = remote_cuCtxSynchronize();
        if (result != CUDA_SUCCESS)
            return result;
        // The stream has passed the signal. Only a failed request leaves the flag unset, and its
        // error has been reported.
        return flag_reached(session, index, value) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    }
    return CUDA_SUCCESS;
}

CUresult wait_flag(struct box_session *session, uint32_t index, uint32_t value, uint32_t size,
                   CUstream stream)
{
    uint64_t began = watch_begin();
    CUresult result = await_flag(session, index, value, size, stream);
    watch_wait_end(size ? WATCH_WAIT_DATA : WATCH_WAIT_GPU, began);
    return result;
}

// Each thread starts the search at its own place. A flag has one waiter only: with two, it could
// reach the later value first.
bool fence_take(struct box_session *session, struct fence_hold *fence)
{
    static _Atomic uint32_t next_place;
    static __thread uint32_t mine;
    if (!mine)
        mine = atomic_fetch_add(&next_place, 1) % FENCE_FLAGS + 1;
    for (uint32_t i = 0; i < FENCE_FLAGS; i++) {
        uint32_t place = (mine - 1 + i) % FENCE_FLAGS;
        struct fence_flag *flag = &session->blocks->fences[place];
        if (atomic_exchange_explicit(&flag->taken, true, memory_order_acquire))
            continue;
        *fence = (struct fence_hold){.index = LINK_FLAGS - 1 - place, .value = ++flag->value};
        return true;
    }
    return false;
}

void fence_give(struct box_session *session, const struct fence_hold *fence)
{
    atomic_store_explicit(&session->blocks->fences[LINK_FLAGS - 1 - fence->index].taken, false,
                          memory_order_release);
}

CUresult copy_fence(struct box_session *session, CUstream stream)
{
    struct fence_hold fence;
    if (!session->staging || !fence_take(session, &fence))
        return remote_cuStreamSynchronize(stream);
    before_work_wait_begins(session);
    calls_gather();
    CUresult result = remote_signal(fence.index, fence.value, stream);
    bool sent = result == CUDA_SUCCESS;
    calls_leave(session);
    if (sent)
        result = wait_flag(session, fence.index, fence.value, 0, stream);
    if (!sent || result == CUDA_SUCCESS)
        fence_give(session, &fence);
    if (result == CUDA_SUCCESS) {
        idle_note_stream(session, stream);
        staging_deliver(session);
        before_work_wait_ended(session);
    }
    return result;
}

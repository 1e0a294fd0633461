// SPDX-License-Identifier: BSD-3-Clause
// The RDMA device reports completions. For a long wait for the GPU, a thread sleeps in the driver
// (gpu_sleeper.h); otherwise the mover polls at intervals.
#include <errno.h>

#include "common/base/clock.h"
#include "transport/link/link.h"
#include "daemon/worker/copy/parts/gpu_sleeper.h"
#include "daemon/worker/copy/one_sided/one_sided.h"
#include "daemon/worker/core/session.h"

enum {
    LONG_US = 125, // a sleep so long means that the wait takes milliseconds
    NOTIFIED_US =
        1000000, // between two looks all the same, of which one may find that the peer has gone
};

static struct gpu_sleeper sleeper = GPU_SLEEPER(.mover = &one_sided.mover);

// The device has something in hand.
static bool awaits_device(void)
{
    for (unsigned i = 0; i < one_sided.active_count; i++)
        if (one_sided.active[i]->posted || one_sided.active[i]->parts_posted)
            return true;
    return false;
}

// A move that is not over holds its stream, so the GPU does not reach later work.
static bool is_held_by(const struct move *move)
{
    return move && move->result == CUDA_SUCCESS;
}

// Counts the moves whose progress only a query of the GPU shows; *FIRST is the first that waits for
// its stream.
static unsigned count_awaited(const struct move **first)
{
    unsigned count = 0;

    for (unsigned i = 0; i < one_sided.active_count; i++) {
        const struct inflight_block *inflight = one_sided.active[i];
        bool flag = inflight->stage == INFLIGHT_SIGNALLING && !inflight->posted;
        if (inflight->stage == INFLIGHT_COPYING || (flag && !is_held_by(inflight->behind)))
            count++;
    }
    for (const struct move *move = one_sided.moves; move; move = move->next) {
        if (move->ready || is_held_by(move->behind) || move->result != CUDA_SUCCESS)
            continue;
        if (!*first)
            *first = move;
        count++;
    }
    return count;
}

// Returns true if everything that the mover waits for wakes it. Without a block in hand it waits
// for blocks.
static bool will_be_notified(uint32_t us, bool device)
{
    const struct move *first = NULL;
    unsigned awaited = count_awaited(&first);

    if (awaited != 1 || !first || !first->start || us < LONG_US)
        return !awaited && device;
    return mover_enter(&one_sided.mover, first->context) == CUDA_SUCCESS &&
           gpu_sleeper_await(&sleeper, first->context, first->start);
}

void one_sided_sleep(uint32_t us)
{
    bool device = awaits_device();
    uint32_t most = will_be_notified(us, device) ? NOTIFIED_US : us;
    int err = -EAGAIN;

    if (device) {
        pthread_mutex_unlock(&one_sided.mover.lock);
        err = link_transfer_wait(session.link, most);
        pthread_mutex_lock(&one_sided.mover.lock);
        most = us;
    }
    if (err) // there is nothing to wait for, or the link is down, which another thread sees to
        clock_wait(&one_sided.mover.added, &one_sided.mover.lock, most);
}

void one_sided_wake(void)
{
    link_transfer_wake(session.link);
}

void one_sided_waits_forget(CUcontext context)
{
    gpu_sleeper_forget(&sleeper, context);
}

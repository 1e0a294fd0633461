// SPDX-License-Identifier: BSD-3-Clause
// What the mover waits for, and who wakes it: the device tells when it has read or written, and of the GPU a thread that sleeps in
// its driver, where the wait is long and for one thing. Else the mover asks from time to time.
#include <errno.h>

#include "common/clock.h"
#include "transport/link.h"
#include "worker/move/gpu_sleeper.h"
#include "worker/move/one_sided/reach.h"
#include "worker/session.h"

enum {
    LONG_US = 125, // a sleep so long means that the wait takes milliseconds
    WILL_BE_TOLD_US =
        1000000, // between two looks all the same, of which one may find that the peer has gone
};

static struct gpu_sleeper sleeper = GPU_SLEEPER(.mover = &reach.mover);

// The device has something in hand.
static bool awaits_device(void)
{
    for (unsigned i = 0; i < reach.active_count; i++)
        if (reach.active[i]->posted || reach.active[i]->parts_posted)
            return true;
    return false;
}

// A move that is not over holds its stream, so the GPU does not come to what is behind it.
static bool is_held_by(const struct move *move)
{
    return move && move->result == CUDA_SUCCESS;
}

// What only asking the GPU tells; of moves that wait for their stream the first in *FIRST.
static unsigned count_awaited(const struct move **first)
{
    unsigned count = 0;

    for (unsigned i = 0; i < reach.active_count; i++) {
        const struct flight *flight = reach.active[i];
        bool flag = flight->stage == FLIGHT_SIGNALLING && !flight->posted;
        if (flight->stage == FLIGHT_COPYING || (flag && !is_held_by(flight->behind)))
            count++;
    }
    for (const struct move *move = reach.moves; move; move = move->next) {
        if (move->ready || is_held_by(move->behind) || move->result != CUDA_SUCCESS)
            continue;
        if (!*first)
            *first = move;
        count++;
    }
    return count;
}

// Whether the mover is woken by all that it waits for. With nothing in hand anywhere it waits for blocks.
static bool will_be_told(uint32_t us, bool device)
{
    const struct move *first = NULL;
    unsigned awaited = count_awaited(&first);

    if (awaited != 1 || !first || !first->start || us < LONG_US)
        return !awaited && device;
    return mover_enter(&reach.mover, first->context) == CUDA_SUCCESS &&
           gpu_sleeper_await(&sleeper, first->context, first->start);
}

void reach_sleep(uint32_t us)
{
    bool device = awaits_device();
    uint32_t most = will_be_told(us, device) ? WILL_BE_TOLD_US : us;
    int err = -EAGAIN;

    if (device) {
        pthread_mutex_unlock(&reach.mover.lock);
        err = link_transfer_wait(session.link, most);
        pthread_mutex_lock(&reach.mover.lock);
        most = us;
    }
    if (err) // there is nothing to wait for, or the link is down, which another thread sees to
        clock_wait(&reach.mover.added, &reach.mover.lock, most);
}

void reach_wake(void)
{
    link_transfer_wake(session.link);
}

void reach_waits_forget(CUcontext context)
{
    gpu_sleeper_forget(&sleeper, context);
}

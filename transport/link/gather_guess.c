// SPDX-License-Identifier: BSD-3-Clause
#include "transport/link/gather_guess.h"

#include "common/base/clock.h"

enum {
    SOON_NS = 500 * 1000,
    PAUSE_NS = 8 * 1000 * 1000,
    WANTED = 8,
    WANTED_MAX = 1024,
    TICK_MIN_US = 1000,
    TICK_MAX_US = 8000,
    CLEAN = 4, // ticks, until they may be longer
};

// Learns from the time that passed since a record left by itself: another one soon after it could
// have left together with it. After a pause the guess is learned again: by then the thread that
// sends waiting records sleeps, and waking it costs more than sending a few records at once.
static void learn(struct gather_guess *guess)
{
    uint64_t now = clock_coarse_ns();

    if (now - guess->used > PAUSE_NS)
        guess->hits = 0;
    guess->used = now;
    if (atomic_load_explicit(&guess->missed, memory_order_relaxed)) {
        atomic_store(&guess->missed, false);
        guess->hits = 0;
        guess->wanted = guess->wanted < WANTED_MAX ? 2 * guess->wanted : WANTED_MAX;
    }
    if (!guess->last)
        return;
    guess->hits = clock_ns() - guess->last < SOON_NS ? guess->hits + 1 : 0;
    guess->last = 0;
}

void gather_guess_start(struct gather_guess *guess)
{
    guess->wanted = WANTED;
    guess->tick_us = TICK_MIN_US;
}

bool gather_guess_waits(struct gather_guess *guess)
{
    learn(guess);
    if (guess->hits >= guess->wanted)
        return true;
    guess->last = clock_ns();
    return false;
}

void gather_guess_flushed(struct gather_guess *guess)
{
    learn(guess);
}

uint32_t gather_guess_tick(struct gather_guess *guess, bool missed)
{
    if (missed) {
        atomic_store(&guess->missed, true);
        guess->tick_us = TICK_MIN_US;
        guess->clean = 0;
    } else if (++guess->clean % CLEAN == 0 && guess->tick_us < TICK_MAX_US) {
        guess->tick_us *= 2;
    }
    return guess->tick_us;
}

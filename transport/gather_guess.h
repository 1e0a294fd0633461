// SPDX-License-Identifier: BSD-3-Clause
// Guesses whether a record that nobody flushes is better kept for the next one, to leave together with it. To send costs
// more than most records do, and many a record is followed at once by another or by a flush, such as a launch by its
// synchronization. Where that has been so several times in a row, records wait for a tick or two at most. To have waited in
// vain was a wrong guess: then they leave one by one again, and it takes longer to guess again. The caller locks.
#ifndef RGPU_TRANSPORT_GATHER_GUESS_H
#define RGPU_TRANSPORT_GATHER_GUESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GATHER_BYTES = 2048 }; // at most, and a record more

struct gather_guess {
    uint32_t hits, wanted; // the next record or flush came soon: how often in a row; that suffices
    uint64_t last;         // when a record left by itself, ns; 0: none since the last flush
    uint64_t used;         // when it was last asked or told anything, roughly, ns
    _Atomic bool missed;   // records waited in vain; set by who sent them then, without a lock
    uint32_t tick_us,
        clean; // of that thread: its present tick, and how many passed since one was too long
};

void gather_guess_start(struct gather_guess *guess);
// Of a record that nobody flushes: whether it is to wait for the next one.
bool gather_guess_waits(struct gather_guess *guess);
// A record was flushed, or what has gathered.
void gather_guess_flushed(struct gather_guess *guess);
// Of the thread that sends what waited in vain: how long to sleep until it looks again, us. The longer guesses have been
// right, the less often it is woken to see that.
uint32_t gather_guess_tick(struct gather_guess *guess, bool missed);

#endif

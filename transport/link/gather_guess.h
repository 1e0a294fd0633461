// SPDX-License-Identifier: BSD-3-Clause
// Guesses whether a record without a flush should wait for the next one, to leave together with it.
// To send costs more than most records do, and many a record is followed at once by another or by a
// flush, such as a launch by its synchronization. After several such pairs in a row, records wait
// for a tick or two at most. A wait in vain was a wrong guess: then they leave one by one again,
// and the next guess takes longer. The caller locks.
#ifndef RGPU_TRANSPORT_GATHER_GUESS_H
#define RGPU_TRANSPORT_GATHER_GUESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GATHER_BYTES = 2048 }; // at most, and a record more

struct gather_guess {
    uint32_t hits, wanted; // the next record or flush came soon: how often in a row; that suffices
    uint64_t last;         // when a record left by itself, ns; 0: none since the last flush
    uint64_t used;         // time of the last use, roughly, ns
    _Atomic bool missed;   // records waited in vain; set by their sender, without a lock
    uint32_t tick_us,
        clean; // of that thread: its present tick, and how many passed since one was too long
};

void gather_guess_start(struct gather_guess *guess);
// Returns true if a record without a flush should wait for the next one.
bool gather_guess_waits(struct gather_guess *guess);
// Reports that a record, or the gathered records, were flushed.
void gather_guess_flushed(struct gather_guess *guess);
// Returns the microseconds for which the thread that sends leftover records sleeps before its next
// look. The longer guesses have been right, the longer it sleeps.
uint32_t gather_guess_tick(struct gather_guess *guess, bool missed);

#endif

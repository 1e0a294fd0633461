// SPDX-License-Identifier: BSD-3-Clause
// Predicts whether it pays to delay a record that needs no immediate flush, so that it is sent
// together with the next record. A send costs more than most records, and many records are followed
// at once by another record or a flush, such as a launch by a synchronization. After `wanted` such
// pairs in a row, records are delayed by one or two ticks of a thread that sends them. If no
// further record arrives in time, the prediction failed: records are sent at once again, and the
// next prediction needs more pairs. The caller serializes all calls.
#ifndef RGPU_TRANSPORT_GATHER_GUESS_H
#define RGPU_TRANSPORT_GATHER_GUESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GATHER_BYTES = 2048 }; // delayed records are sent when they exceed this size

struct gather_guess {
    uint32_t hits, wanted; // number of pairs in a row; number after which records are delayed
    // time when the last record was sent alone, ns; 0: none since the last flush
    uint64_t last;
    uint64_t used; // approximate time of the last call, ns
    // a prediction failed; set by the thread that sends delayed records, without the caller's lock
    _Atomic bool missed;
    uint32_t tick_us,
        // thread that sends delayed records: length of its tick, and ticks since the last failed
        // prediction
        clean;
};

void gather_guess_start(struct gather_guess *guess);
// Returns true if the record should be delayed.
bool gather_guess_waits(struct gather_guess *guess);
// Records that records were sent by a flush.
void gather_guess_flushed(struct gather_guess *guess);
// Returns how long the thread that sends delayed records sleeps, in microseconds. MISSED: a
// prediction failed during the last tick. The tick grows while predictions hold.
uint32_t gather_guess_tick(struct gather_guess *guess, bool missed);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Finds the size of block with which copies of one direction are fastest, from the copies that a
// session makes anyway: each candidate moves a few megabytes in each of some rounds, candidates that
// are far behind are left out after the first, and then the best one stays.
#ifndef RGPU_WORKER_BLOCK_TUNER_H
#define RGPU_WORKER_BLOCK_TUNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TUNER_SIZE_MIN = 64 * 1024,
    TUNER_SIZE_MAX = 4 * 1024 * 1024,
    TUNER_CANDIDATES = 7, // the powers of two between them
    TUNER_ROUNDS = 3,
    TUNER_TRIAL = 16 * 1024 * 1024, // bytes that one trial moves
    TUNER_DROP_PERCENT = 75,        // of the best rate; less after the first round is out
    TUNER_GAIN_PERCENT = 3,         // less than this is no reason to leave the usual size
};

struct block_tuner {
    unsigned count;
    uint32_t sizes[TUNER_CANDIDATES];
    uint64_t rates[TUNER_CANDIDATES]; // the best so far, bytes per second
    bool out[TUNER_CANDIDATES];
    unsigned usual; // index of the size that is right where nothing else is better
    unsigned next;  // index of the candidate whose turn it is
    unsigned round;
    bool settled;
};

// The candidates are those of which at least three fit into ROOM bytes; the smallest is always one.
void block_tuner_start(struct block_tuner *tuner, uint32_t usual, size_t room);
// The size for the next trial; the chosen one when it has settled.
uint32_t block_tuner_size(const struct block_tuner *tuner);
// The size for copies that are no trials.
uint32_t block_tuner_best(const struct block_tuner *tuner);
// BYTES were moved in US microseconds with that size.
void block_tuner_take(struct block_tuner *tuner, uint64_t bytes, uint64_t us);
// What was measured, as "64K 310 128K 420 ..." in MB/s.
void block_tuner_describe(const struct block_tuner *tuner, char *text, size_t room);

#endif

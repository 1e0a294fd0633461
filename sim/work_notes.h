// SPDX-License-Identifier: BSD-3-Clause
// What the GPU did and when: a note of each kernel, copy and set, for whoever asks by CUPTI's functions, which
// this library exports itself (work_records.c). Where nobody asks, an operation pays for one look at a flag.
#ifndef SIM_WORK_NOTES_H
#define SIM_WORK_NOTES_H

#include "proto/cupti_abi.h"
#include "sim/sim.h"

// What an operation is to those who ask; the record's times and places are filled in by others.
struct work_note {
    uint32_t kind; // CUpti_ActivityKind; 0: nothing to tell
    const char *name;
    uint32_t grid[3], block[3];
    uint32_t static_shared, dynamic_shared, registers, local_bytes;
    uint8_t copy, from, to; // enum cupti_copy, cupti_memory
    uint32_t value;
    uint64_t bytes;
};

// Where it ran.
struct work_place {
    uint32_t device, context, stream;
};

// A bit for each kind that is asked for.
extern atomic_ullong work_kinds;
static inline bool work_is_noted(void)
{
    return __builtin_expect(atomic_load_explicit(&work_kinds, memory_order_relaxed) != 0, 0);
}

// The number by which records of one call belong together; whoever has subscribed is told of it.
uint32_t work_correlation(void);
uint64_t work_now(void);
// What NOTE tells of ran at PLACE from BEGAN until now, for the call CORRELATION.
void work_done(const struct work_note *note, const struct work_place *place, uint32_t correlation,
               uint64_t began);

#define CUPTI_API(name, ...) \
    SIM_EXPORT CUptiResult name(__VA_ARGS__); \
    SIM_EXPORT CUptiResult name(__VA_ARGS__)

#endif

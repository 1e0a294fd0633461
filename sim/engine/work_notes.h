// SPDX-License-Identifier: BSD-3-Clause
// Activity records of kernels, copies and memsets for subscribers of CUPTI, which this library
// implements (work_records.c). Without a subscriber an operation costs one read of a flag.
#ifndef SIM_WORK_NOTES_H
#define SIM_WORK_NOTES_H

#include "proto/cupti_abi.h"
#include "sim/sim.h"

// Description of an operation. work_done adds time and location.
struct work_note {
    uint32_t kind; // CUpti_ActivityKind; 0: no record
    const char *name;
    uint32_t grid[3], block[3];
    uint32_t static_shared, dynamic_shared, registers, local_bytes;
    uint8_t copy, from, to; // enum cupti_copy, cupti_memory
    uint32_t value;
    uint64_t bytes;
};

// The device, context and stream that an operation ran in.
struct work_place {
    uint32_t device, context, stream;
};

// bit mask of the requested kinds
extern atomic_ullong work_kinds;
static inline bool work_is_noted(void)
{
    return __builtin_expect(atomic_load_explicit(&work_kinds, memory_order_relaxed) != 0, 0);
}

// Returns a new correlation id for the present call, and notifies the subscriber of the call.
uint32_t work_correlation(void);
uint64_t work_now(void);
// Creates a record. The operation ran from BEGAN to now.
void work_done(const struct work_note *note, const struct work_place *place, uint32_t correlation,
               uint64_t began);

#define CUPTI_API(name, ...) \
    SIM_EXPORT CUptiResult name(__VA_ARGS__); \
    SIM_EXPORT CUptiResult name(__VA_ARGS__)

#endif

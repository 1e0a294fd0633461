// SPDX-License-Identifier: BSD-3-Clause
// Advice for ranges of managed memory, and their last prefetch, as cuMemRangeGetAttribute returns
// them. The caller locks.
#ifndef RGPU_COMMON_ADVICE_H
#define RGPU_COMMON_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct advice {
    bool read_mostly;
    CUmemLocation preferred, prefetched; // type 0: none
    uint64_t accessed_by;                // bit mask of devices; the highest bit is the host
};

// Ranges in order and without gaps, from address 0 to the end of the address space.
struct advice_table {
    struct advice_run {
        uint64_t base; // the range ends where the next one begins
        struct advice advice;
    } * runs;
    size_t count;
};

// Calls CHANGE for each part of a range. Returns false if memory is exhausted.
bool advice_set(struct advice_table *table, uint64_t base, uint64_t size,
                void (*change)(struct advice *advice, const void *argument), const void *argument);
// Deletes the advice for freed memory.
void advice_forget(struct advice_table *table, uint64_t base, uint64_t size);
// Implements cuMemAdvise_v2; the device must exist. Returns INVALID_VALUE or OUT_OF_MEMORY.
CUresult advice_give(struct advice_table *table, uint64_t base, uint64_t size, CUmem_advise advise,
                     CUmemLocation location);
CUresult advice_prefetched(struct advice_table *table, uint64_t base, uint64_t size,
                           CUmemLocation location);
// Implements cuMemRangeGetAttribute.
CUresult advice_ask(const struct advice_table *table, uint64_t base, uint64_t size,
                    CUmem_range_attribute attribute, void *data, size_t data_size);

#endif

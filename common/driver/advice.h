// SPDX-License-Identifier: BSD-3-Clause
// Stores the advice for ranges of managed memory, and their last prefetch, for queries
// (cuMemRangeGetAttribute). The caller locks.
#ifndef RGPU_COMMON_ADVICE_H
#define RGPU_COMMON_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct advice {
    bool read_mostly;
    CUmemLocation preferred, prefetched; // type 0: none
    uint64_t accessed_by;                // a bit for each device, and the highest for the host
};

// A row of ranges without a gap, from 0 to the end of all addresses.
struct advice_table {
    struct advice_run {
        uint64_t base; // up to the next one's
        struct advice advice;
    } * runs;
    size_t count;
};

// Changes all of a range by CHANGE. False: there is no memory.
bool advice_set(struct advice_table *table, uint64_t base, uint64_t size,
                void (*change)(struct advice *advice, const void *argument), const void *argument);
// Memory that is freed.
void advice_forget(struct advice_table *table, uint64_t base, uint64_t size);
// As cuMemAdvise_v2 has it, of a device that there is. INVALID_VALUE; OUT_OF_MEMORY.
CUresult advice_give(struct advice_table *table, uint64_t base, uint64_t size, CUmem_advise advise,
                     CUmemLocation location);
CUresult advice_prefetched(struct advice_table *table, uint64_t base, uint64_t size,
                           CUmemLocation location);
// As cuMemRangeGetAttribute has it.
CUresult advice_ask(const struct advice_table *table, uint64_t base, uint64_t size,
                    CUmem_range_attribute attribute, void *data, size_t data_size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Memory that is given back in the order of a stream while parts of copies from or to it are still
// to be queued.
//
// Once a driver has been asked to free memory of a pool, it answers every call that names it with
// INVALID_VALUE, even in a stream that comes to it before the free. Ours queue a copy's parts after
// the program has gone on, which may be to the free. So the driver is asked only when the last part
// has been queued, and the program's stream waits on a semaphore until the memory is free: whatever
// comes behind finds what it would find otherwise.
#ifndef RGPU_WORKER_HELD_FREES_H
#define RGPU_WORKER_HELD_FREES_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// The device memory of a copy, from its request until the driver has all of its parts or will be
// given no more.
struct copied_range {
    uint64_t start, end;
    struct copied_range *next;
    struct copied_range **at; // what points to it in the list; NULL: it is not there
    _Atomic bool counts;      // it is not in the list, but counted
};

// Before requests are served, behind those who watch contexts for their copies.
void held_frees_start(void);
void copied_range_begin(struct copied_range *range, uint64_t start, uint64_t size);
// Does nothing a second time. Any thread; what is current stays so.
void copied_range_over(struct copied_range *range);
// Returns true if copies of the range are in flight.
bool memory_is_copied(uint64_t start, uint64_t end);
// Frees [ADDRESS, END) behind these and in the order of STREAM, which is of CONTEXT, the current
// one.
CUresult free_behind_copies(CUdeviceptr address, uint64_t end, CUstream stream, CUcontext context);

#endif

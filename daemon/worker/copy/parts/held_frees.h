// SPDX-License-Identifier: BSD-3-Clause
// Frees pool memory in stream order (cuMemFreeAsync) while blocks of copies that use it are not
// queued yet.
//
// After cuMemFreeAsync, the driver answers every call that names the memory with INVALID_VALUE. The
// worker queues the blocks of a copy after the request returned, so the program's free may come
// first. Then the worker calls cuMemFreeAsync only after the last block is queued, and the
// program's stream waits on a semaphore until then. So later work of the stream sees the memory
// freed.
#ifndef RGPU_WORKER_HELD_FREES_H
#define RGPU_WORKER_HELD_FREES_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// The device memory of a copy, from its request until all of its blocks are queued or it failed.
struct copied_range {
    uint64_t start, end;
    struct copied_range *next;
    struct copied_range **at; // the pointer to it in the list; NULL: it is not in the list
    _Atomic bool counts;      // it is counted instead of being in the list
};

// Called before requests are served, and after the context watchers of copies are registered.
void held_frees_start(void);
void copied_range_begin(struct copied_range *range, uint64_t start, uint64_t size);
// Ends RANGE; does nothing if it ended already. Thread-safe; the current context stays.
void copied_range_over(struct copied_range *range);
// Returns true if copies of the range are in flight.
bool memory_is_copied(uint64_t start, uint64_t end);
// Frees [ADDRESS, END) after these copies and in the order of STREAM. STREAM belongs to CONTEXT,
// which is current.
CUresult free_behind_copies(CUdeviceptr address, uint64_t end, CUstream stream, CUcontext context);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Keeps memory that the program has freed. The next allocation of the same kind and size gets it,
// so programs that allocate and free in a loop send no request. What is not used again within 50 ms
// goes back to the box as soon as the GPU is idle, and all goes back if an allocation finds no
// room. Memory that was freed in the order of a stream serves later allocations in that stream, and
// goes back without a wait. The box counts kept memory as the session's. Any thread may call.
#ifndef RGPU_CLIENT_KEPT_MEMORY_H
#define RGPU_CLIENT_KEPT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "client-lib/cuda/objects/addresses.h"
#include "proto/cuda_abi.h"

// Takes memory with the size, host, host_flags, managed, ordered, pool and context of WANTED, and
// copies its entry to *WANTED. STREAM is that of ordered memory, else NULL. The caller enters it
// into the address book. Returns false if none is kept.
bool kept_take(struct allocation *wanted, CUstream stream);
// Returns false if FREED is not kept: it is large or a graph's, or other processes or boxes may
// know its address.
bool kept_suits(const struct allocation *freed);
// Keeps FREED, which has left the address book. All work that may use it is done, or was sent to
// STREAM before, if the memory is ordered. Returns false if the caller must free it.
bool kept_give(const struct allocation *freed, CUstream stream);
// Returns true if the caller should ask for memory once more: RESULT is CUDA_ERROR_OUT_OF_MEMORY,
// and memory was kept, which this gives back.
bool kept_make_room(CUresult result);
// Gives all memory back if the GPU is idle. Returns how many bytes of DEVICE (the program's number)
// are kept then.
size_t kept_bytes(CUdevice device);
// Gives back all that was freed in the order of streams: before calls that show a pool's state, and
// before a stream ends or is captured. During captures it stays, since they may record its free.
void kept_give_back_ordered(void);
// Called before and after a context ends, which frees its memory: no request to free any is sent in
// between. The second one returns RESULT.
void kept_context_ends(void);
CUresult kept_context_ended(CUresult result);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Keeps host memory equal to the box's mirror of it, if the program used the memory before the
// mirror was made, so that the library cannot protect its pages. This process finds the program's
// changes by comparing all of the memory with the last contents that both sides had. The box finds
// the GPU's changes in the same way. Both compare when work is sent and after each wait for work.
// Thread-safe.
#ifndef RGPU_CLIENT_COMPARED_MEMORY_H
#define RGPU_CLIENT_COMPARED_MEMORY_H

#include <stdbool.h>

#include "client-lib/cuda/objects/addresses.h"

// Adds MEMORY, which is copied. The box's mirror is the region memory->region, which must hold
// zeros; the memory begins at memory->region_offset in the region.
CUresult compared_add(const struct allocation *memory);
// Removes the memory that begins at BASE, and returns the number of the mirror's region, which the
// caller frees; 0 if there is no such memory.
uint32_t compared_remove(uint64_t base);
// Returns true if CONTEXT (a handle) has such memory.
bool compared_any_in(uint64_t context);
// Removes all memory of CONTEXT, which has ended.
void compared_context_gone(uint64_t context);

// Sends the program's changes in all memory of SESSION. WORK: the caller then sends work that may
// change the memory.
CUresult compared_send(struct box_session *session, bool work);
// Fetches the GPU's changes in memory of SESSION that sent work may have changed.
// Reports errors to the user.
void compared_fetch(struct box_session *session);

// Sends the program's changes and fetches the GPU's in all small memory of sessions whose GPUs may
// be at work. Returns true if there is such memory. *CHANGED becomes true if either side had
// changes.
bool compared_exchange(bool *changed);

#endif

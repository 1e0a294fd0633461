// SPDX-License-Identifier: BSD-3-Clause
// Keeps host memory equal to the box's mirror of it. The program uses the memory already when the
// mirror comes into being, so the library cannot protect its pages. This process finds the
// program's changes by comparing all of the memory with what the box has, and the box finds the
// GPU's changes in the same way. Both compare whenever work is sent and after each wait for work.
#ifndef RGPU_CLIENT_COMPARED_MEMORY_H
#define RGPU_CLIENT_COMPARED_MEMORY_H

#include <stdbool.h>

#include "client-lib/cuda/objects/addresses.h"

// Adds MEMORY. The box's mirror is its region, which holds zeros at first; MEMORY begins at its
// region_offset.
CUresult compared_add(const struct allocation *memory);
// Removes the memory at BASE, and returns the region of the box's mirror; 0: it is not known.
uint32_t compared_remove(uint64_t base);
bool compared_any_in(uint64_t context);
void compared_context_gone(uint64_t context);

// Sends all changes in memory of the session. WORK: work that may change the memory follows.
CUresult compared_send(struct box_session *session, bool work);
// Fetches the GPU's changes if work has been sent that may have made any.
void compared_fetch(struct box_session *session);

// Sends the program's changes in small memory, and fetches the GPU's, for all sessions whose GPUs
// may be at work. Returns true if there is such memory; sets *CHANGED if there were changes.
bool compared_exchange(bool *changed);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Registered memory of which the box has a mirror. It is the program's own, so it cannot be closed to it: what the program
// has changed is found by comparing it with what the box knows, and what the GPU has changed by the box in the same
// way. Both take a look at all of it, whenever work is sent and whenever work has been waited for.
#ifndef RGPU_CLIENT_COMPARED_MEMORY_H
#define RGPU_CLIENT_COMPARED_MEMORY_H

#include <stdbool.h>

#include "client-lib/objects/addresses.h"

// MEMORY's region is the box's, whose bytes are zeros; the first is at its region_offset.
CUresult compared_add(const struct allocation *memory);
void compared_remove(uint64_t base);
void compared_context_gone(uint64_t context);

// Sends what has been changed in memory of the session. WORK: work follows that may change it, too.
CUresult compared_send(struct box_session *session, bool work);
// Makes the changes of the GPU, where there may be any.
void compared_fetch(struct box_session *session);

#endif

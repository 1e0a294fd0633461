// SPDX-License-Identifier: BSD-3-Clause
// Describes the session's GPUs to a client (snapshot.c).
#ifndef RGPU_WORKER_SNAPSHOT_H
#define RGPU_WORKER_SNAPSHOT_H

#include <stddef.h>

struct control_grant;

// Returns the description of the granted devices, on the heap, which the caller owns; NULL if
// memory runs out. Only clients that say which calls they know get sections.
void *snapshot_make(const int *ordinals, unsigned count, const struct control_grant *grant,
                    size_t *size);
void snapshot_prepare(void); // queries the driver in advance

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Snapshot: description of the session's GPUs for the client.
#ifndef RGPU_WORKER_SNAPSHOT_H
#define RGPU_WORKER_SNAPSHOT_H

#include <stddef.h>

struct control_grant;

// Describes the granted devices. The caller frees the result. NULL if memory is exhausted. Only
// clients that state which calls they know get sections.
void *snapshot_make(const int *ordinals, unsigned count, const struct control_grant *grant,
                    size_t *size);
void snapshot_prepare(void); // queries the driver before a client connects

#endif

// SPDX-License-Identifier: BSD-3-Clause
// What a client is told of its GPUs (snapshot.c).
#ifndef RGPU_WORKER_SNAPSHOT_H
#define RGPU_WORKER_SNAPSHOT_H

#include <stddef.h>

struct control_grant;

// The description of the granted devices; heap, the caller's. NULL: no memory. Sections are for clients that say
// which calls they know.
void *snapshot_make(const int *ordinals, unsigned count, const struct control_grant *grant,
                    size_t *size);
void snapshot_prepare(void); // asks the driver beforehand

#endif

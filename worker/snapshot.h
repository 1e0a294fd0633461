// SPDX-License-Identifier: BSD-3-Clause
// What a client is told of its GPUs (snapshot.c).
#ifndef RGPU_WORKER_SNAPSHOT_H
#define RGPU_WORKER_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

// The description of the granted devices; heap, the caller's. NULL: no memory. Sections are for clients that say
// which calls they know.
void *snapshot_make(const int *ordinals, unsigned count, bool with_sections, size_t *size);
void snapshot_prepare(void); // asks the driver beforehand

#endif

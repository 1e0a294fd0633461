// SPDX-License-Identifier: BSD-3-Clause
// Gathers the box's changes in memory that a running kernel may be writing to. The caller queries
// all such memory until there are no more changes, and then applies the changes together. So if the
// program sees one word of a kernel, it also sees all words that the kernel wrote before.
#ifndef RGPU_CLIENT_SETTLED_CHANGES_H
#define RGPU_CLIENT_SETTLED_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/managed/host_changes.h"

// The caller sets the first four members and zeroes the others.
struct settled_changes {
    struct host_part part;
    uint8_t *memory, *known; // the memory, and the last contents that both sides had
    size_t size;             // bytes of each
    // The newest bytes that the box reported, and a 1 for each of them; NULL: no changes so far.
    uint8_t *sum, *touched;
    uint8_t *packed; // the same changes, encoded (common/base/byte_changes.h)
    size_t bytes;    // of `packed`
};

// Queries the box once and adds its changes. *CHANGED becomes true if there are any.
CUresult settled_ask(struct settled_changes *changes, bool *changed);
// Encodes the sum of all changes. If memory has run out, settled_apply applies nothing.
void settled_pack(struct settled_changes *changes);
// Applies the encoded changes of at most a word if WORDS, else the longer ones. No other thread may
// use changes->known at the same time.
void settled_apply(const struct settled_changes *changes, bool words);
// Frees the buffers of CHANGES.
void settled_release(struct settled_changes *changes);

#endif

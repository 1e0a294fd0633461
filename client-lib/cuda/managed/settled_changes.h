// SPDX-License-Identifier: BSD-3-Clause
// Gathers the box's changes in memory that a running kernel may be writing to. The caller asks
// about all such memory until there are no more changes, and then applies them together. So
// whatever the GPU wrote before a word that has come, has come as well.
#ifndef RGPU_CLIENT_SETTLED_CHANGES_H
#define RGPU_CLIENT_SETTLED_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/managed/host_changes.h"

struct settled_changes {
    struct host_part part;
    uint8_t *memory, *known;
    size_t size;
    uint8_t *sum, *touched; // the newest bytes, and which they are; NULL: none so far
    uint8_t *packed;        // the same, as changes
    size_t bytes;
};

// Asks once. Sets *CHANGED if there are changes.
CUresult settled_ask(struct settled_changes *changes, bool *changed);
// Finds the sum of all changes.
void settled_pack(struct settled_changes *changes);
// Applies changes of up to a word, or longer ones. No other thread may use KNOWN during this.
void settled_apply(const struct settled_changes *changes, bool words);
void settled_release(struct settled_changes *changes);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
// Places of nodes, gathered by how near they are. Knows nothing of Slurm's headers.
#ifndef RGPU_SLURM_PLACES_H
#define RGPU_SLURM_PLACES_H

#include <stddef.h>

enum { PLACES_LEVELS = 4, PLACES_LEVEL_MAX = 128 };

// The switches of each level, the nearest first, with `|` between; those for which there is no room
// are left out.
struct places {
    char levels[PLACES_LEVELS][PLACES_LEVEL_MAX];
};

// `address` is a node's as Slurm says it, from the outermost switch to the node: "hall3.rack1.n7".
void places_add(struct places *places, const char *address);
// "near=rack1|rack2,near=hall3".
void places_print(const struct places *places, char *text, size_t size);

#endif

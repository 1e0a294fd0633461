// SPDX-License-Identifier: GPL-2.0-or-later
// Collects the network switches of a job's nodes, as a preference for boxes at the same switches.
// Includes none of Slurm's headers.
#ifndef RGPU_SLURM_PLACES_H
#define RGPU_SLURM_PLACES_H

#include <stddef.h>

enum { PLACES_LEVELS = 4, PLACES_LEVEL_MAX = 128 };

// Names of switches, with `|` between them. levels[0] has the switches that the nodes are attached
// to, levels[1] the switches above those, and so on. A name that does not fit into its level is
// left out. The caller sets all to zero first.
struct places {
    char levels[PLACES_LEVELS][PLACES_LEVEL_MAX];
};

// Adds the switches of one node. `address` is the node's topology address in Slurm, from the
// outermost switch to the node: "hall3.rack1.n7".
void places_add(struct places *places, const char *address);
// Writes one constraint of the broker for each level, nearest level first:
// "near=rack1|rack2,near=hall3". A level that does not fit into SIZE bytes is left out. The text is
// "" without switches.
void places_print(const struct places *places, char *text, size_t size);

#endif

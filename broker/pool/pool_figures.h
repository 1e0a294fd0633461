// SPDX-License-Identifier: BSD-3-Clause
// Keeps the current activity of GPUs and sessions, as their boxes report it. The figures last while
// the box is connected and are never stored.
#ifndef RGPU_BROKER_POOL_FIGURES_H
#define RGPU_BROKER_POOL_FIGURES_H

#include <jansson.h>

#include "broker/pool/pool.h"

struct figure_row {
    const char *name;   // in reports and in the API
    double least, most; // bounds; values outside are ignored
    bool whole;         // an integer
    const char *metric, *help;
};

// One row for each of POOL_FIGURES.
extern const struct figure_row figure_rows[POOL_FIGURES];

// Takes over a box's list for all its GPUs. A figure becomes unknown if the list lacks it or its
// value is out of bounds.
void pool_figures_take(struct pool_box *box, const json_t *list);
// Returns false if the figure is unknown.
bool pool_figures_get(const struct pool_gpu *gpu, unsigned figure, double *value);
// Adds the known figures to an object of the API.
void pool_figures_show(const struct pool_gpu *gpu, json_t *object);
// Removes values that are out of bounds from the sessions of a report.
void pool_figures_bound(json_t *sessions);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// What GPUs and sessions do at the moment, as their boxes report it: kept while the box is there, never stored.
#ifndef RGPU_BROKER_POOL_FIGURES_H
#define RGPU_BROKER_POOL_FIGURES_H

#include <jansson.h>

#include "broker/pool.h"

struct figure_row {
    const char *name;   // in reports, and in our answers
    double least, most; // what is outside is no figure
    bool whole;         // a number without a fraction
    const char *metric, *help;
};

// One row for each of POOL_FIGURES.
extern const struct figure_row figure_rows[POOL_FIGURES];

// Takes a box's list over all its GPUs; one that it does not name, and what is outside of the bounds, becomes unknown.
void pool_figures_take(struct pool_box *box, const json_t *list);
// False: it is not known now.
bool pool_figures_get(const struct pool_gpu *gpu, unsigned figure, double *value);
// Adds what is known to an object of the API.
void pool_figures_show(const struct pool_gpu *gpu, json_t *object);
// Takes out of the sessions of a report what is outside of the bounds.
void pool_figures_bound(json_t *sessions);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Activity figures of GPUs and sessions, as boxes report them. They are kept in memory while the
// box is connected.
#ifndef RGPU_BROKER_POOL_FIGURES_H
#define RGPU_BROKER_POOL_FIGURES_H

#include <jansson.h>

#include "broker/pool/pool.h"

// Combination of the values of several GPUs into one.
enum figure_sum { FIGURE_SUM, FIGURE_MEAN, FIGURE_MOST };

struct figure_row {
    const char *name;   // name in reports and in the API
    double least, most; // valid range; other values are ignored
    bool whole;         // the value is an integer
    enum figure_sum sum;
    const char *metric, *help;
};

enum { FIGURE_UTILIZATION = 1 };
// One row for each of POOL_FIGURES.
extern const struct figure_row figure_rows[POOL_FIGURES];

// Returns true if TEXT, which a box has sent, is printable ASCII: other bytes could steer the
// terminal of a person who lists boxes.
bool pool_is_printable(const char *text);

// Reads the figures of all GPUs of a box. A figure that is missing or out of range becomes unknown.
void pool_figures_take(struct pool_box *box, const json_t *list);
// Gets figure number FIGURE. Returns false if it is unknown.
bool pool_figures_get(const struct pool_gpu *gpu, unsigned figure, double *value);
// Adds the known figures of GPU to OBJECT.
void pool_figures_show(const struct pool_gpu *gpu, json_t *object);
// Deletes figures that are out of range from the sessions of a report.
void pool_figures_bound(json_t *sessions);

#endif

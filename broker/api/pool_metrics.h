// SPDX-License-Identifier: BSD-3-Clause
// Writes the broker's counters and the pool's figures in the Prometheus text format.
#ifndef RGPU_BROKER_POOL_METRICS_H
#define RGPU_BROKER_POOL_METRICS_H

#include "broker/api/api_call.h"

// Returns a text of *SIZE bytes, which the caller frees; NULL if memory is exhausted.
char *metrics_text(const struct server *server, size_t *size);

#endif

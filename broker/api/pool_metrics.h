// SPDX-License-Identifier: BSD-3-Clause
// Writes the broker's counters and the pool's figures in Prometheus' text format.
#ifndef RGPU_BROKER_POOL_METRICS_H
#define RGPU_BROKER_POOL_METRICS_H

#include "broker/api/api_call.h"

// Returns the text, which the caller frees, or NULL without memory.
char *metrics_text(const struct server *server, size_t *size);

#endif

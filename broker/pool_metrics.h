// SPDX-License-Identifier: BSD-3-Clause
// The broker's counters and the pool's figures in Prometheus' text format.
#ifndef RGPU_BROKER_POOL_METRICS_H
#define RGPU_BROKER_POOL_METRICS_H

#include "broker/api_call.h"

// The caller frees it; NULL: no memory.
char *metrics_text(const struct server *server, size_t *size);

#endif

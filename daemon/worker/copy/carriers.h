// SPDX-License-Identifier: BSD-3-Clause
// The carrier of the session (carriers.c).
#ifndef RGPU_WORKER_CARRIERS_H
#define RGPU_WORKER_CARRIERS_H

#include "transport/link/link.h"
#include "daemon/worker/copy/parts/carrier.h"

// Set by carrier_start; there are no requests before that.
extern const struct carrier *carrier;
// The one for what the session's link can do with memory. -1: it cannot start its threads.
int carrier_start(enum link_memory memory) __attribute__((warn_unused_result));

#endif

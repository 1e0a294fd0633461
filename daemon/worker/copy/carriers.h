// SPDX-License-Identifier: BSD-3-Clause
// The session's carrier, see carrier.h.
#ifndef RGPU_WORKER_CARRIERS_H
#define RGPU_WORKER_CARRIERS_H

#include "transport/link/link.h"
#include "daemon/worker/copy/parts/carrier.h"

// Set by carrier_start(), before the first request.
extern const struct carrier *carrier;
// Selects and starts the carrier for the link's kind of memory. Returns 0, or -1 if a thread cannot
// start.
int carrier_start(enum link_memory memory) __attribute__((warn_unused_result));

#endif

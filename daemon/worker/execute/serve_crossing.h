// SPDX-License-Identifier: BSD-3-Clause
// Streams that wait for events of other boxes.
#ifndef RGPU_WORKER_SERVE_CROSSING_H
#define RGPU_WORKER_SERVE_CROSSING_H

#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Returns the event to record for a client's handle: a new one if a stream still waits for the last
// record.
CUevent crossing_event(struct serve *serve, uint64_t handle);
void crossing_prepare(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Serves the queue.
#ifndef RGPU_BROKER_QUEUE_PASS_H
#define RGPU_BROKER_QUEUE_PASS_H

#include "broker/leases/core.h"

// Grants free GPUs to waiting leases.
void broker_serve_queue(struct broker *broker);

#endif

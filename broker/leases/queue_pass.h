// SPDX-License-Identifier: BSD-3-Clause
// Grants free GPUs to queued leases, in the order of the queue.
#ifndef RGPU_BROKER_QUEUE_PASS_H
#define RGPU_BROKER_QUEUE_PASS_H

#include "broker/leases/core.h"

void broker_serve_queue(struct broker *broker);

#endif

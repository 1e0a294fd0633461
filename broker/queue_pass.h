// SPDX-License-Identifier: BSD-3-Clause
// Serving those who wait.
#ifndef RGPU_BROKER_QUEUE_PASS_H
#define RGPU_BROKER_QUEUE_PASS_H

#include "broker/core.h"

// Gives what is free to those who wait.
void broker_serve_queue(struct broker *broker);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Events to the client (events.c).
#ifndef RGPU_WORKER_EVENTS_H
#define RGPU_WORKER_EVENTS_H

#include <stdint.h>

#include "proto/wire.h"

void event_send(enum wire_event_kind kind, const void *body, uint32_t size, uint32_t bytes);

#endif

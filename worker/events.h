// SPDX-License-Identifier: BSD-3-Clause
// Events to the client (events.c).
#ifndef RGPU_WORKER_EVENTS_H
#define RGPU_WORKER_EVENTS_H

#include <stdint.h>

#include "proto/wire.h"

// BYTES: of what the event has more, behind BODY or behind the record.
void event_send(enum wire_event_kind kind, const void *body, uint32_t size, uint32_t bytes);
// With BYTES of DATA behind BODY, inside the record. Leaves with the next event or reply, which the caller sends.
void event_send_ahead(enum wire_event_kind kind, const void *body, uint32_t size, const void *data,
                      uint32_t bytes);

#endif

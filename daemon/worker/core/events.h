// SPDX-License-Identifier: BSD-3-Clause
// Sends events to the client. Thread-safe.
#ifndef RGPU_WORKER_EVENTS_H
#define RGPU_WORKER_EVENTS_H

#include <stdint.h>

#include "proto/wire.h"

// Sends an event. BYTES: number of data bytes of the event, at the end of BODY or after the record.
void event_send(enum wire_event_kind kind, const void *body, uint32_t size, uint32_t bytes);
// Queues an event with BODY and BYTES of DATA. It is sent with the next event or reply, which the
// caller must send.
void event_send_ahead(enum wire_event_kind kind, const void *body, uint32_t size, const void *data,
                      uint32_t bytes);

#endif

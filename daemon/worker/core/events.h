// SPDX-License-Identifier: BSD-3-Clause
// Sends events to the client. Thread-safe.
#ifndef RGPU_WORKER_EVENTS_H
#define RGPU_WORKER_EVENTS_H

#include <stdint.h>

#include "proto/wire.h"

// Sends an event. BYTES: number of data bytes of the event, at the end of BODY or after the record.
void event_send(enum wire_event_kind kind, const void *body, uint32_t size, uint32_t bytes);
// Sends text for the client's standard error.
void event_send_error_text(const char *text, uint32_t bytes);
// Queues an event with BYTES of DATA after BODY, inside the record. It leaves with the next event
// or reply, which the caller sends.
void event_send_ahead(enum wire_event_kind kind, const void *body, uint32_t size, const void *data,
                      uint32_t bytes);

#endif

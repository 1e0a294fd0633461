// SPDX-License-Identifier: BSD-3-Clause
// Events: a point in a stream, and when it was reached.
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "sim/stream.h"

struct event;

// INVALID_HANDLE; the status of the event's context if that is not sound. To be put.
CUresult event_get(CUevent handle, struct event **out);
void event_put(struct event *event);

// Marks the end of what the stream has now. INVALID_HANDLE for a stream of another context.
CUresult event_record(struct event *event, struct stream *stream);

#endif

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

// For graphs, whose launches record and wait for events when they are queued. A record that is
// reached when `line`, a stream of which only the count is used, comes to `sequence`.
struct record;
struct record *event_begin_record(struct event *event, struct stream *line, uint64_t sequence);
void event_finish_record(struct record *record); // takes the time; puts it
// The event's last record, or NULL; event_await_record waits until it is reached, and puts it.
struct record *event_last_record(struct event *event);
void event_await_record(struct record *record);
void event_put_record(struct record *record);
struct context *event_context(const struct event *event);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Implements events: a point in a stream, and the time when the stream reached it.
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "sim/engine/stream.h"

struct event;

// Looks up an event; the caller puts it. Returns INVALID_HANDLE, or the status of the event's
// context if that has a fault.
CUresult event_get(CUevent handle, struct event **out);
void event_put(struct event *event);

// Records the end of the stream's present work. Returns INVALID_HANDLE for a stream of another
// context.
CUresult event_record(struct event *event, struct stream *stream);

// Begins a record for graphs, whose launches record and wait for events when they are queued. The
// record is reached when `line` completes `sequence`. `line` is a stream that only counts.
struct record;
struct record *event_begin_record(struct event *event, struct stream *line, uint64_t sequence);
void event_finish_record(struct record *record); // takes the time and puts the record
// Returns the event's last record or NULL. event_await_record waits until the record is reached,
// and puts it.
struct record *event_last_record(struct event *event);
void event_await_record(struct record *record);
void event_put_record(struct record *record);
struct context *event_context(const struct event *event);

#endif

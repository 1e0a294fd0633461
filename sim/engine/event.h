// SPDX-License-Identifier: BSD-3-Clause
// Events. Each record of an event is a point in a stream and the time when the stream reached it.
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "sim/engine/stream.h"

struct event;

// Returns the event of a handle with a new reference. Returns INVALID_HANDLE or the fault of its
// context.
CUresult event_get(CUevent handle, struct event **out);
void event_put(struct event *event);

// Records the event after the work queued in STREAM. Returns INVALID_HANDLE if STREAM belongs to
// another context.
CUresult event_record(struct event *event, struct stream *stream);

// Begins a record by a graph launch. The record is complete when `line` completes `sequence`.
// `line` is a stream without operations, whose completions are only counted (stream_advance).
struct record;
struct record *event_begin_record(struct event *event, struct stream *line, uint64_t sequence);
void event_finish_record(struct record *record); // stores the time and drops the reference
// event_last_record returns the last record with a new reference, or NULL. event_await_record waits
// until the record is complete and drops the reference.
struct record *event_last_record(struct event *event);
void event_await_record(struct record *record);
void event_put_record(struct record *record);
struct context *event_context(const struct event *event);

#endif

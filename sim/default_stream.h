// SPDX-License-Identifier: BSD-3-Clause
// The default streams: the legacy one of a context, and one for each thread and context.
#ifndef SIM_DEFAULT_STREAM_H
#define SIM_DEFAULT_STREAM_H

#include "sim/stream.h"

// Adds the waits that the legacy default stream asks for: its operations wait for all blocking
// streams of the context, and those wait for it.
CUresult default_stream_order(struct stream *stream, struct operation *operation);

// Whether the stream has done all its work, and waiting until it has. For the legacy stream that
// counts the blocking streams in: it would have to wait for them before it did anything.
bool default_stream_idle(struct stream *stream);
void default_stream_drain(struct stream *stream);

// Whether an operation that is submitted now has nothing to wait for.
bool default_stream_clear(struct stream *stream);

// The calling thread's default stream in a context, made at first use; borrowed.
CUresult default_stream_of_thread(struct context *context, struct stream **out);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Implements the default streams: a legacy stream for each context, and one stream for each thread
// and context.
#ifndef SIM_DEFAULT_STREAM_H
#define SIM_DEFAULT_STREAM_H

#include "sim/engine/stream.h"

// Adds the waits of the legacy default stream: its operations wait for all blocking streams of the
// context, and those streams wait for it.
CUresult default_stream_order(struct stream *stream, struct operation *operation);

// Return true if the stream has done all its work, or wait until it has. For the legacy stream this
// includes the blocking streams, because its next operation would wait for them.
bool default_stream_idle(struct stream *stream);
void default_stream_drain(struct stream *stream);

// Returns true if an operation submitted to the stream would have nothing to wait for.
bool default_stream_clear(struct stream *stream);

// Returns the calling thread's default stream in a context, creating it at first use. The result is
// borrowed.
CUresult default_stream_of_thread(struct context *context, struct stream **out);

#endif

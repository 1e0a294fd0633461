// SPDX-License-Identifier: BSD-3-Clause
// Default streams: the legacy default stream of each context, and a per-thread default stream for
// each thread and context.
#ifndef SIM_DEFAULT_STREAM_H
#define SIM_DEFAULT_STREAM_H

#include "sim/engine/stream.h"

// Adds the waits that CUDA prescribes: work in the legacy default stream waits for all blocking
// streams of its context, and they wait for it.
CUresult default_stream_order(struct stream *stream, struct operation *operation);

// Makes a copy in the legacy default stream of another device's context wait for the blocking
// streams of DEVICE, the legacy ones included (CUDA C++ Programming Guide, Peer-to-Peer Memory
// Copy; non-blocking streams are not waited for, as measured on an H200).
CUresult default_stream_join(const struct device *device, struct operation *operation);

// Query or wait for completion of the stream's work. For the legacy default stream this includes
// the work of all blocking streams.
bool default_stream_idle(struct stream *stream);
void default_stream_drain(struct stream *stream);

// Returns true if work submitted to the stream could run immediately.
bool default_stream_clear(struct stream *stream);

// Returns the calling thread's default stream in a context; creates it if necessary. The result is
// borrowed.
CUresult default_stream_of_thread(struct context *context, struct stream **out);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The ordinary streams that serve as per-thread default streams.
#ifndef RGPU_CLIENT_THREAD_STREAM_H
#define RGPU_CLIENT_THREAD_STREAM_H

#include "client-lib/cuda/objects/object.h"

// Returns the handle of the calling thread's default stream in CONTEXT, and creates the stream on
// first use. The stream ends with the thread. Returns 0 on failure.
uint64_t thread_default_stream(const struct object *context);

#endif

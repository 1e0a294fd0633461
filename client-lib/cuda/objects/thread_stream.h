// SPDX-License-Identifier: BSD-3-Clause
// The ordinary streams that serve as per-thread default streams.
#ifndef RGPU_CLIENT_THREAD_STREAM_H
#define RGPU_CLIENT_THREAD_STREAM_H

#include "client-lib/cuda/objects/object.h"

// Returns the handle of this thread's default stream in CONTEXT, and makes it on first use; 0 on
// failure.
uint64_t thread_default_stream(const struct object *context);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The streams that stand for a thread's per-thread default streams.
#ifndef RGPU_CLIENT_THREAD_STREAM_H
#define RGPU_CLIENT_THREAD_STREAM_H

#include "client-lib/objects/object.h"

// The handle of this thread's default stream in CONTEXT, made on first use; 0 on failure.
uint64_t thread_default_stream(const struct object *context);

#endif

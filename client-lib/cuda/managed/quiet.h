// SPDX-License-Identifier: BSD-3-Clause
// Tracks if GPUs have completed all work that may touch managed memory. Thread-safe.
#ifndef RGPU_CLIENT_QUIET_H
#define RGPU_CLIENT_QUIET_H

#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// Notes that work goes to a context (a handle; 0: unknown).
void quiet_no_more(struct box_session *session, uint64_t context);
// Waits until no work touches memory of CONTEXT: for work of STREAM if only that stream uses the
// memory, else for all work. Does not wait inside a host function of the program, because a stream
// waits for that function.
void quiet_await(struct box_session *session, uint64_t context, uint64_t stream);
// Waits for all work of CONTEXT.
void quiet_await_context(uint64_t context);

#endif

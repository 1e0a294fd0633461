// SPDX-License-Identifier: BSD-3-Clause
// Tracks whether GPUs have completed all work that may access managed memory. Thread-safe.
#ifndef RGPU_CLIENT_QUIET_H
#define RGPU_CLIENT_QUIET_H

#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// Notes that work is sent to CONTEXT (a handle; 0: unknown).
void quiet_no_more(struct box_session *session, uint64_t context);
// Waits until no work accesses memory of CONTEXT. If STREAM is not 0, only that stream uses the
// memory, and this waits for its work; else for all work. Does not wait while a host function of
// the program runs, because a stream waits for that function, or while streams of SESSION are
// captured.
void quiet_await(struct box_session *session, uint64_t context, uint64_t stream);
// Waits for all work of CONTEXT.
void quiet_await_context(uint64_t context);

#endif

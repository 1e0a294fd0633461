// SPDX-License-Identifier: BSD-3-Clause
// Late pushes: asynchronous copies from page-locked memory to the GPU over a byte stream. Earlier
// work of the stream may still write to that memory, so this process sends the data only after the
// box requests it. Thread-safe.
#ifndef RGPU_CLIENT_LATE_PUSH_H
#define RGPU_CLIENT_LATE_PUSH_H

#include "client-lib/cuda/session/box_session.h"

// Requests the copy, sets *RESULT and returns true; the program keeps the SIZE bytes at SRC until
// the copy is done. Returns false if too many late pushes are under way or memory has run out; then
// the caller waits for the stream instead.
bool late_push(struct box_session *session, CUdeviceptr dst, const void *src, size_t size,
               CUstream stream, CUresult *result);
// Handles the box's request for the data of JOB: the thread of late pushes sends them. Never
// blocks.
void late_push_due(struct box_session *session, uint32_t job);

#endif

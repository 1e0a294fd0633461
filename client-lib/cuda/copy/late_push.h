// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous copies from page-locked memory over a byte stream. Their data must not be read
// before earlier work has written it, so the box requests the data when it is time.
#ifndef RGPU_CLIENT_LATE_PUSH_H
#define RGPU_CLIENT_LATE_PUSH_H

#include "client-lib/cuda/session/box_session.h"

// Requests the copy. False: too many are under way or memory has run out; the caller waits for the
// stream instead.
bool late_push(struct box_session *session, CUdeviceptr dst, const void *src, size_t size,
               CUstream stream, CUresult *result);
// The box requests the data of a job; the thread of late pushes sends them. Never blocks.
void late_push_due(struct box_session *session, uint32_t job);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous copies from page-locked memory over a byte stream whose data must not be read before
// earlier work has written it: the box says when.
#ifndef RGPU_CLIENT_LATE_PUSH_H
#define RGPU_CLIENT_LATE_PUSH_H

#include "client-lib/session/box_session.h"

// Asks for the copy. False: it cannot be had now, since too many are under way or memory has run out; the
// caller waits for the stream instead.
bool late_push(struct box_session *session, CUdeviceptr dst, const void *src, size_t size,
               CUstream stream, CUresult *result);
// The box wants the data of a job: a thread of its own sends it. Never blocks.
void late_push_due(struct box_session *session, uint32_t job);

#endif

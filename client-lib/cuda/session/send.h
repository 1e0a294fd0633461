// SPDX-License-Identifier: BSD-3-Clause
// Sends requests. Thread-safe: while a thread has reserved a request, other senders wait.
#ifndef RGPU_CLIENT_SEND_H
#define RGPU_CLIENT_SEND_H

#include "client-lib/cuda/session/box_session.h"

// Reserves a request with SIZE bytes of arguments after its header, in the memory of the link. OP
// is enum cuda_op, CONTEXT the box's handle. Returns NULL and sets *RESULT on failure. No other
// thread can send on this session until the caller calls session_ask, link_commit or link_cancel.
struct wire_request *session_reserve(struct box_session *session, uint16_t op, uint64_t context,
                                     size_t size, CUresult *result);
// Sends the reserved request and waits for the reply, which goes to the buffers of WAITER. Returns
// false after cancelling the request if SESSION_CALLS requests wait already.
bool session_ask(struct box_session *session, struct wire_request *record, struct waiter *waiter);

#endif

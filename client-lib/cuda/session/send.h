// SPDX-License-Identifier: BSD-3-Clause
// Sends requests. Thread-safe; no thread can overtake another's reserved request.
#ifndef RGPU_CLIENT_SEND_H
#define RGPU_CLIENT_SEND_H

#include "client-lib/cuda/session/box_session.h"

// Reserves a request with SIZE bytes of arguments after its header. Returns NULL and sets *RESULT
// on failure. No other thread can send on this session until the request is committed, cancelled or
// asked. CONTEXT is the box's handle.
struct wire_request *session_reserve(struct box_session *session, uint16_t op, uint64_t context,
                                     size_t size, CUresult *result);
// Sends the reserved request and waits for the reply that WAITER describes. Returns false, and
// sends nothing, if too many threads wait.
bool session_ask(struct box_session *session, struct wire_request *record, struct waiter *waiter);

#endif

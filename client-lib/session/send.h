// SPDX-License-Identifier: BSD-3-Clause
// Sending requests. Any thread may call; what a thread has reserved nobody else can overtake.
#ifndef RGPU_CLIENT_SEND_H
#define RGPU_CLIENT_SEND_H

#include "client-lib/session/box_session.h"

// Room for a request with SIZE bytes of arguments, which lie behind its header; NULL with *RESULT. Until it
// is committed, cancelled or asked no other thread can send on this session. CONTEXT: as the box knows it.
struct wire_request *session_reserve(struct box_session *session, uint16_t op, uint64_t context,
                                     size_t size, CUresult *result);
// Sends the reserved request and waits for its reply, as WAITER says. False: too many threads wait, and
// nothing was sent.
bool session_ask(struct box_session *session, struct wire_request *record, struct waiter *waiter);

#endif

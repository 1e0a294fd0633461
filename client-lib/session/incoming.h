// SPDX-License-Identifier: BSD-3-Clause
// What each event of a worker does (see docs/protocol.md).
#ifndef RGPU_CLIENT_INCOMING_H
#define RGPU_CLIENT_INCOMING_H

#include "client-lib/session/box_session.h"

// Handles the event of SIZE bytes in session->record, and takes its payload off the link. Called
// without the session's lock by the thread that receives.
void incoming_handle(struct box_session *session, uint32_t size);
// Waits for the parts of payloads that are under way to where they belong; of the same thread.
void incoming_settle(struct box_session *session);

#endif

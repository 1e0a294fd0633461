// SPDX-License-Identifier: BSD-3-Clause
// Handles the events that a worker sends (docs/reference/protocol.md).
#ifndef RGPU_CLIENT_INCOMING_H
#define RGPU_CLIENT_INCOMING_H

#include "client-lib/cuda/session/box_session.h"

// Handles the event of SIZE bytes in session->record and receives its payload. A malformed event
// ends the session. Only the receiving thread calls this, without the session's lock.
void incoming_handle(struct box_session *session, uint32_t size);
// Waits until the data of pulls that is being received has reached its destinations. Only the
// receiving thread calls this.
void incoming_settle(struct box_session *session);

#endif

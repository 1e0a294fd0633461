// What each event of a worker does (see docs/protocol.md).
#ifndef RGPU_CLIENT_EVENTS_H
#define RGPU_CLIENT_EVENTS_H

#include "client-lib/session.h"

// Handles the event of SIZE bytes in session->record, and takes its payload off the link. Called
// without the session's lock by the thread that receives.
void events_handle(struct session *session, uint32_t size);

#endif

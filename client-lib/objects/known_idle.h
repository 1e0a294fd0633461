// SPDX-License-Identifier: BSD-3-Clause
// Whether it is known here that a session's GPUs have nothing left to do. Calls that wait for all work before they do
// something need not be waited for then: there is nothing to wait for.
//
// What is sent is counted, and how far a wait has come is noted in that count. A wait for one stream says of all
// work that it is over where all since the last time was sent by the same thread to the same stream.
#ifndef RGPU_CLIENT_KNOWN_IDLE_H
#define RGPU_CLIENT_KNOWN_IDLE_H

#include "client-lib/session/box_session.h"

struct object;

// A request is about to be sent from CONTEXT (NULL: from none); no other thread can send on the session meanwhile. *STREAM:
// the one that it names, as it travels; NULL: none.
void idle_note_sent(struct box_session *session, uint16_t op, const struct object *context,
                    const uint64_t *stream);
// This thread knows that STREAM, which is resolved and of the session, has done all that this thread has sent to it.
void idle_note_stream(struct box_session *session, CUstream stream);
// A mark from before a wait for all work of the current context, and that wait has ended well.
uint64_t idle_mark(const struct box_session *session);
void idle_note_context(struct box_session *session, uint64_t mark);
bool idle_is_known(const struct box_session *session);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Tracks if a session's GPUs are known to be idle. Then calls that wait for all work need no answer
// of the box, because there is nothing to wait for.
//
// The requests are counted, and each wait notes the count up to which all work is done. A wait for
// one stream proves that all work is done if all later work came from the same thread and went to
// that stream.
#ifndef RGPU_CLIENT_KNOWN_IDLE_H
#define RGPU_CLIENT_KNOWN_IDLE_H

#include "client-lib/cuda/session/box_session.h"

struct object;

// Called before a request is sent from CONTEXT (NULL: no context) while no other thread can send on
// the session. *STREAM: the stream that it names, as it is sent; NULL: none.
void idle_note_sent(struct box_session *session, uint16_t op, const struct object *context,
                    const uint64_t *stream);
// Notes that STREAM, which is resolved and belongs to the session, has done all work of this
// thread.
void idle_note_stream(struct box_session *session, CUstream stream);
// idle_mark is called before a wait for all work of the current context, and idle_note_context
// after that wait has succeeded.
uint64_t idle_mark(const struct box_session *session);
void idle_note_context(struct box_session *session, uint64_t mark);
bool idle_is_known(const struct box_session *session);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Tracks whether a session's GPUs are known to be idle. Then calls that wait for all work need not
// query the box.
//
// Requests of work are numbered in the order of sending, and each wait stores the number up to
// which all work is done. After a wait for all work, a wait for one stream proves that all work is
// done if all requests in between came from the same thread and went to that stream. Thread-safe.
#ifndef RGPU_CLIENT_KNOWN_IDLE_H
#define RGPU_CLIENT_KNOWN_IDLE_H

#include "client-lib/cuda/session/box_session.h"

struct object;

// Counts the request OP (enum cuda_op) from CONTEXT (NULL: none). Called after the request is
// reserved, before it is sent. *STREAM is the value that the request carries for its stream; STREAM
// is NULL if the request names none.
void idle_note_sent(struct box_session *session, uint16_t op, const struct object *context,
                    const uint64_t *stream);
// Called after a wait for STREAM has succeeded. STREAM is resolved and belongs to the session.
void idle_note_stream(struct box_session *session, CUstream stream);
// Returns the number of the latest request of work. Called before a wait for all work of the
// current context; idle_note_context gets this number after that wait has succeeded.
uint64_t idle_mark(const struct box_session *session);
void idle_note_context(struct box_session *session, uint64_t mark);
// Returns true if all unfinished work of the session is in one stream of the current context, and
// this thread has sent it. Sets *STREAM then: NULL for the default stream.
bool idle_but_for_one(const struct box_session *session, CUstream *stream);
// Returns true if all work of the session is known to be done.
bool idle_is_known(const struct box_session *session);

#endif

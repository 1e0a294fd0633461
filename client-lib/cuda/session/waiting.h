// SPDX-License-Identifier: BSD-3-Clause
// Waits for what a worker sends. Thread-safe.
#ifndef RGPU_CLIENT_WAITING_H
#define RGPU_CLIENT_WAITING_H

#include "client-lib/cuda/session/box_session.h"

// session_prepare returns the number for the reply, or 0 if too many calls wait. session_wait
// receives events until the waiter is done or the session is lost.
uint32_t session_prepare(struct box_session *session, struct waiter *waiter);
void session_wait(struct box_session *session, struct waiter *waiter);
// Takes one credit, and waits for one if needed. Returns false if the session is lost.
bool session_take_credit(struct box_session *session);
// Add a pull before its request is sent; drop it when its data is complete or the request failed.
void session_add_pull(struct box_session *session, struct pending_pull *pull);
uint32_t session_new_job(struct box_session *session);
void session_drop_pull(struct box_session *session, struct pending_pull *pull);
// Handles events that have arrived and no thread has read. Never blocks.
void session_take_pending(struct box_session *session);
// Announces events that no caller waits for (+1), or their arrival (-1).
void session_expect(struct box_session *session, int change);
// The same for events that the program's next call will probably read. The service thread reads
// them if no call does so for a moment.
void session_expect_later(struct box_session *session, int change);
// Returns true if running work may write to this process's memory.
bool session_expecting(struct box_session *session);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Waiting for what a worker sends. Any thread may call.
#ifndef RGPU_CLIENT_WAITING_H
#define RGPU_CLIENT_WAITING_H

#include "client-lib/session/box_session.h"

// session_prepare gives the number under which the reply will come (0: too many calls); session_wait
// receives events until the waiter is done or the session is lost.
uint32_t session_prepare(struct box_session *session, struct waiter *waiter);
void session_wait(struct box_session *session, struct waiter *waiter);
// One credit, waiting for it. False: the session is lost.
bool session_take_credit(struct box_session *session);
// Pulls: announce before the request goes out; end when data is complete or the request failed.
void session_add_pull(struct box_session *session, struct pending_pull *pull);
uint32_t session_new_job(struct box_session *session);
void session_drop_pull(struct box_session *session, struct pending_pull *pull);
// Handles what has come and nobody has taken yet. Never blocks.
void session_take_pending(struct box_session *session);
// Says that events will come which no caller waits for (+1), or have come (-1).
void session_expect(struct box_session *session, int change);
// The same of events that a call of the program will most likely read before long: only when none does so for a moment they
// are read for it.
void session_expect_later(struct box_session *session, int change);
// Whether work is under way that may write to this process's memory on its own account.
bool session_expecting(struct box_session *session);

#endif

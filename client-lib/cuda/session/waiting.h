// SPDX-License-Identifier: BSD-3-Clause
// Waits for the events that a worker sends: replies, credits and the data of pulls. Thread-safe.
#ifndef RGPU_CLIENT_WAITING_H
#define RGPU_CLIENT_WAITING_H

#include "client-lib/cuda/session/box_session.h"

// Registers WAITER for the reply to a request. Returns the call number that the request carries and
// that the worker repeats in its reply; 0 if SESSION_CALLS requests wait already. If the number is
// not 0, WAITER must stay valid and the caller must call session_wait.
uint32_t session_prepare(struct box_session *session, struct waiter *waiter);
// Waits until the reply, or the end of the pull, has arrived or the session is lost. Then
// unregisters WAITER; waiter->result is the result of the request, or that of the lost session.
// WAITER was registered by session_prepare, or as the `waiter` of a pull by session_add_pull.
void session_wait(struct box_session *session, struct waiter *waiter);
// Takes one credit, the worker's permission to push one block (WIRE_BLOCK_SIZE bytes at most). If
// there is none, waits until the worker grants more. Returns false if the session is lost.
bool session_take_credit(struct box_session *session);
// Registers PULL, a copy from the GPU to this process, and sets pull->job. Called before the
// request is sent. If pull->waiter is NULL, the session owns PULL and frees it after its last data;
// else the caller calls session_wait, and frees PULL if waiter->done is then true.
void session_add_pull(struct box_session *session, struct pending_pull *pull);
// Returns a new job number, which names one pull or push of the session.
uint32_t session_new_job(struct box_session *session);
// Unregisters PULL if its request could not be sent. The caller owns PULL again.
void session_drop_pull(struct box_session *session, struct pending_pull *pull);
// Handles the events that have arrived but that no thread has read. Never blocks.
void session_take_pending(struct box_session *session);
// Waits until at most MOST bytes of the payloads in AHEAD are not acknowledged, unless another
// thread reads.
void session_await_acknowledged(struct box_session *session, const struct link_ahead *ahead,
                                size_t most);
// Has the service thread take them in, if no other thread reads.
void session_take_acknowledgements(struct box_session *session);
// Adds CHANGE to the number of events that the worker will send while no thread may be waiting: 1
// before the request that causes such an event, -1 after the event, or if the request failed. While
// the number is not 0, the service thread reads the link whenever no other thread does.
void session_expect(struct box_session *session, int change);
// Does the same for events that the program's next call will probably read. The service thread
// reads these only if no other thread reads the link for about a millisecond.
void session_expect_later(struct box_session *session, int change);
// Returns true if such events are still expected, so that work may still write to this process's
// memory.
bool session_expecting(struct box_session *session);

#endif

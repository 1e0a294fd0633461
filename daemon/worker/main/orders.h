// SPDX-License-Identifier: BSD-3-Clause
// Orders of the supervisor to a worker with a session.
#ifndef RGPU_WORKER_ORDERS_H
#define RGPU_WORKER_ORDERS_H

// Executes the next message from session.control, if there is one: the end of the session, which
// does not return, or a message about shared memory, other boxes, pauses or moves.
void orders_take(void);

#endif

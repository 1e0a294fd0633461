// SPDX-License-Identifier: BSD-3-Clause
// Orders of the supervisor to a worker with a session.
#ifndef RGPU_WORKER_ORDERS_H
#define RGPU_WORKER_ORDERS_H

// Executes the next message from session.control, if there is one. It may end the session and not
// return. Others concern shared memory, other boxes, pauses or moves.
void orders_take(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Executes the supervisor's orders to a worker that has a session or is opening one.
#ifndef RGPU_WORKER_ORDERS_H
#define RGPU_WORKER_ORDERS_H

// Takes the next order from session.control, if there is one: the end of the session, which does
// not return, or an order about shared memory, other boxes, pauses or moves.
void orders_take(void);

#endif

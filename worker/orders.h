// SPDX-License-Identifier: BSD-3-Clause
// What the supervisor tells a worker that has a session, or is opening one.
#ifndef RGPU_WORKER_ORDERS_H
#define RGPU_WORKER_ORDERS_H

// Takes the next order from session.control, if there is one: the end, which does not return, or something about shared
// memory, other boxes, pauses and moves.
void orders_take(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The spawner's connection to rgpud; one at a time.
#ifndef RGPU_DAEMON_SPAWNER_ORDER_SOCKET_H
#define RGPU_DAEMON_SPAWNER_ORDER_SOCKET_H

#include "daemon/spawner/spawner.h"

// Sends HELLO.
void order_socket_greet(struct spawner *spawner);
// Executes orders that have arrived. Closes the connection at its end, or after a malformed order.
// Returns true if there may be more orders.
bool order_socket_take(struct spawner *spawner);
// Reports the wait status of an ended process.
void order_socket_report(struct spawner *spawner, const struct spawned *process, int status);
void order_socket_close(struct spawner *spawner);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Direct links between workers of two boxes. One worker expects a connection that the other makes,
// both through their supervisors.
#ifndef RGPU_WORKER_PEER_DIRECT_H
#define RGPU_WORKER_PEER_DIRECT_H

#include "common/net/control.h"

// Handles the connection of a caller, which the supervisor has passed on. Takes ownership of FD.
// Main thread; does not block.
void peer_direct_came(const struct control_peer_came *came, int fd);

#endif

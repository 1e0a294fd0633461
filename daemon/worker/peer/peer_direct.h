// SPDX-License-Identifier: BSD-3-Clause
// Links of the workers' own between two boxes: one expects a call that the other makes, each by way
// of its supervisor (peer_direct.c).
#ifndef RGPU_WORKER_PEER_DIRECT_H
#define RGPU_WORKER_PEER_DIRECT_H

#include "common/net/control.h"

// The supervisor hands over the connection of a caller, FD, which is taken. Called by the thread
// that hears it, and does not block.
void peer_direct_came(const struct control_peer_came *came, int fd);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_PEER_FRAMES_H
#define RGPU_WORKER_PEER_FRAMES_H

#include "proto/wire.h"
#include "transport/link/link.h"

// Handles a received frame of a peer link, whose payload is next in FROM. Called by the thread that
// reads. Returns 0, or -errno of the link.
int peer_take_frame(const struct wire_peer_frame *frame, struct link *from);

#endif

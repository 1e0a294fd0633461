// SPDX-License-Identifier: BSD-3-Clause
// The frames of a link between two boxes (peer_frames.c).
#ifndef RGPU_WORKER_PEER_FRAMES_H
#define RGPU_WORKER_PEER_FRAMES_H

#include "proto/wire.h"
#include "transport/link/link.h"

// Acts on a frame whose payload is next in FROM. Any thread that reads. -errno: of that link.
int peer_take_frame(const struct wire_peer_frame *frame, struct link *from);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Reads the box's description of its devices when a session begins.
#ifndef RGPU_CLIENT_SNAPSHOT_READ_H
#define RGPU_CLIENT_SNAPSHOT_READ_H

#include <stddef.h>

#include "client-lib/cuda/session/box_session.h"

// Parses SIZE bytes at BYTES, the box's message (struct wire_snapshot and what follows it), into
// SESSION: devices, peers, driver version, known requests, forced copy paths. BYTES are not needed
// afterwards; session_free frees the devices and peers. Returns 0, -EPROTO if the message is
// malformed or of another protocol version, or -ENOMEM.
int snapshot_take(struct box_session *session, const void *bytes, size_t size)
    __attribute__((warn_unused_result));

#endif

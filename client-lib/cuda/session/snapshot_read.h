// SPDX-License-Identifier: BSD-3-Clause
// Reads the box's description of its devices when a session begins.
#ifndef RGPU_CLIENT_SNAPSHOT_READ_H
#define RGPU_CLIENT_SNAPSHOT_READ_H

#include <stddef.h>

#include "client-lib/cuda/session/box_session.h"

// Fills the session's devices and peers, which are freed with it. Returns 0, -EPROTO for an unknown
// form, or -ENOMEM.
int snapshot_take(struct box_session *session, const void *bytes, size_t size)
    __attribute__((warn_unused_result));

#endif

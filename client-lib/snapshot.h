// What a box says of its devices when a session begins.
#ifndef RGPU_CLIENT_SNAPSHOT_H
#define RGPU_CLIENT_SNAPSHOT_H

#include <stddef.h>

#include "client-lib/session.h"

// Fills the session's devices and peers, which are freed with it. -EPROTO: not the form that this
// library knows; -ENOMEM.
int snapshot_take(struct session *session, const void *bytes, size_t size)
    __attribute__((warn_unused_result));

#endif

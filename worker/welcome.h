// SPDX-License-Identifier: BSD-3-Clause
// The welcome of a client: what it is told, and the choice of the transport.
#ifndef RGPU_WORKER_WELCOME_H
#define RGPU_WORKER_WELCOME_H

#include "common/control_stream.h"
#include "common/vm_window.h"

// Before the worker is confined: makes what transports need that cannot be made later. -errno.
int transports_listen(void) __attribute__((warn_unused_result));
// When the memory that clients share is there, and before one comes.
void transports_prepare(void);
// The window into the client's machine, where there is one: its memory, of which the grant says what is the session's,
// and its bells. The descriptors are taken.
void transports_take_window(int memory, const int bells[VM_WINDOW_BELLS]);
// Tells the client what there is and opens the link that it chooses, session.link. CONTROL is the
// supervisor's socket, whose orders are taken meanwhile. What protects STREAM stays the caller's,
// unless the link has taken it. -errno: the handshake has failed.
int welcome_client(int control, const struct control_grant *grant, struct control_stream *stream)
    __attribute__((warn_unused_result));

#endif

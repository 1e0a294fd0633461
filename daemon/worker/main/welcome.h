// SPDX-License-Identifier: BSD-3-Clause
// Describes the session to a client, and connects the transport that the client chooses.
#ifndef RGPU_WORKER_WELCOME_H
#define RGPU_WORKER_WELCOME_H

#include "common/net/control_stream.h"
#include "common/net/vm_window.h"

// Creates resources of transports that a confined worker could not create. Returns 0 or -errno.
int transports_listen(void) __attribute__((warn_unused_result));
// Must be called when the staging memory exists, before a client connects.
void transports_prepare(void);
// Takes over the descriptors of the client machine's window: its memory, of which the grant names
// the session's part, and its doorbells.
void transports_take_window(int memory, const int doorbells[VM_WINDOW_DOORBELLS]);
// Offers transports to the client and connects the chosen one as session.link. Meanwhile executes
// messages of the supervisor from CONTROL. The caller keeps the TLS state of STREAM unless the link
// has taken it. Returns 0, or -errno if the handshake fails.
int welcome_client(int control, const struct control_grant *grant, struct control_stream *stream)
    __attribute__((warn_unused_result));

#endif

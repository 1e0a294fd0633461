// SPDX-License-Identifier: BSD-3-Clause
// Welcomes a client: describes the session to it and opens the transport that it chooses.
#ifndef RGPU_WORKER_WELCOME_H
#define RGPU_WORKER_WELCOME_H

#include "common/net/control_stream.h"
#include "common/net/vm_window.h"

// Makes the resources of transports that a confined worker could not make. Returns 0 or -errno.
int transports_listen(void) __attribute__((warn_unused_result));
// Call when the memory that clients share exists, and before a client connects.
void transports_prepare(void);
// Takes the window into the client's machine, if there is one: its memory, of which the grant names
// the session's part, and its doorbells. Takes the descriptors.
void transports_take_window(int memory, const int doorbells[VM_WINDOW_DOORBELLS]);
// Offers transports to the client and opens the link that it chooses as session.link. Meanwhile
// takes orders of the supervisor from CONTROL. The caller keeps the encryption state of STREAM,
// unless the link has taken it. Returns -errno if the handshake fails.
int welcome_client(int control, const struct control_grant *grant, struct control_stream *stream)
    __attribute__((warn_unused_result));

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Makes lost connections of a tcp link again: in the client by a thread that exists from the first
// loss on, in the worker by taking the client's new connections.
#ifndef RGPU_TRANSPORT_TCP_RECONNECT_H
#define RGPU_TRANSPORT_TCP_RECONNECT_H

#include "transport/tcp/tcp_private.h"

// Returns 0 or -ENOMEM.
int tcp_reconnect_new(struct tcp_link *tcp, const struct link_reconnect *plan);
bool tcp_reconnect_lost(struct tcp_reconnect *reconnect); // a connection is lost
// Worker: see link_tcp_resume().
int tcp_reconnect_take(struct tcp_link *tcp, unsigned number, const struct control_resume *claim,
                       struct control_stream *stream);
// For the child of a fork, where the thread does not exist.
void tcp_reconnect_abandon(struct tcp_reconnect *reconnect);
// Returns false in a child that was cloned after the session was opened.
bool tcp_reconnect_is_own(const struct tcp_reconnect *reconnect);
void tcp_reconnect_stop(struct tcp_reconnect *reconnect); // ends the thread
void tcp_reconnect_free(struct tcp_reconnect **reconnect);

#endif

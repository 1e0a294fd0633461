// SPDX-License-Identifier: BSD-3-Clause
// The client's side of extra connections: a thread opens them after so many bytes that they are
// worth their handshakes. A failure is logged, and the link goes on as it is.
#ifndef RGPU_TRANSPORT_TCP_OPENING_H
#define RGPU_TRANSPORT_TCP_OPENING_H

#include "transport/tcp/tcp_extra.h"

struct tcp_opening;

int tcp_opening_new(struct tcp_extra *extra, const struct link_extra_plan *plan,
                    struct tcp_opening **out);
// Counts bytes of a payload that have been sent or received. Any thread.
void tcp_opening_moved(struct tcp_opening *opening, size_t length);
// In the child of a fork: its thread is not there.
void tcp_opening_abandon(struct tcp_opening *opening);
void tcp_opening_free(struct tcp_opening **opening);

#endif

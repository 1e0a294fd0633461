// SPDX-License-Identifier: BSD-3-Clause
// Client: opens extra connections in a thread, after enough payload bytes to justify the
// handshakes. A failure is logged, and the link continues without them.
#ifndef RGPU_TRANSPORT_TCP_OPENING_H
#define RGPU_TRANSPORT_TCP_OPENING_H

#include "transport/tcp/tcp_extra.h"

struct tcp_opening;

// Stores the plan. The thread starts later. Returns 0 or -ENOMEM.
int tcp_opening_new(struct tcp_extra *extra, const struct link_extra_plan *plan,
                    struct tcp_opening **out);
// Counts payload bytes that were sent or received. Thread-safe.
void tcp_opening_moved(struct tcp_opening *opening, size_t length);
// For the child of a fork, where the thread does not exist.
void tcp_opening_abandon(struct tcp_opening *opening);
void tcp_opening_free(struct tcp_opening **opening);

#endif

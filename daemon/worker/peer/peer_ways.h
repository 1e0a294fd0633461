// SPDX-License-Identifier: BSD-3-Clause
// Finds a faster link between two workers than the connection that they have: tries the transports
// of the table, best first. The connection stays open and shows each end that the other one is
// alive.
#ifndef RGPU_WORKER_PEER_WAYS_H
#define RGPU_WORKER_PEER_WAYS_H

#include "common/net/control_stream.h"
#include "transport/link/link.h"

struct peer_ways {
    struct control_stream *stream; // the connection, without pending data
    bool privacy;
    uint32_t allowed; // bits of enum wire_peer_way
    struct link_options options;
    int64_t deadline; // time of clock_ms() when the search ends
};

// One end calls each function. *OUT is NULL if there is no faster link. REASON explains the choice.
// Return 0, or -errno if the connection is unusable.
int peer_ways_called(const struct peer_ways *ways, struct link **out, char *reason, size_t room);
int peer_ways_caller(const struct peer_ways *ways, struct link **out, char *reason, size_t room);

#endif

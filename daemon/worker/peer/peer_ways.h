// SPDX-License-Identifier: BSD-3-Clause
// A nearer way between two workers than the connection that they have: by trial, best first, of
// those that the table of transports has (peer_ways.c). The connection stays, and each end sees by
// it that the other one is there.
#ifndef RGPU_WORKER_PEER_WAYS_H
#define RGPU_WORKER_PEER_WAYS_H

#include "common/net/control_stream.h"
#include "transport/link/link.h"

struct peer_ways {
    struct control_stream *stream; // with nothing under way
    bool privacy;
    uint32_t allowed; // enum wire_peer_way
    struct link_options options;
    int64_t deadline; // of clock_ms()
};

// Each end calls one of the two. *OUT is NULL where there is no nearer way; REASON says why there
// is none, or what speaks for the one there is. -errno: the connection cannot be used any more.
int peer_ways_called(const struct peer_ways *ways, struct link **out, char *reason, size_t room);
int peer_ways_caller(const struct peer_ways *ways, struct link **out, char *reason, size_t room);

#endif

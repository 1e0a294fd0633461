// SPDX-License-Identifier: BSD-3-Clause
// Makes lost connections of a link again: in the client by a thread, in the worker by taking the
// client's new connections. The links of tcp and of rdma share this. An rdma link has one
// connection, which carries no data, and replaces its queue pairs together with it.
#ifndef RGPU_TRANSPORT_TCP_RECONNECT_H
#define RGPU_TRANSPORT_TCP_RECONNECT_H

#include "common/net/control_stream.h"
#include "transport/tcp/tcp_stream.h"

// Second word of the record, whose first one is 0, by which the client says that it leaves.
static const uint32_t TCP_GOODBYE = UINT32_MAX;

enum { RECONNECT_ANSWER_MS = 1000 }; // for a short message into an empty socket

struct reconnect_ops {
    // Returns the connection with that number, 0 to LINK_EXTRA_MAX; NULL: there is none.
    struct tcp_stream *(*stream)(struct link *link, unsigned number);
    // Returns how many extra connections are in use.
    unsigned (*extra)(struct link *link);
    // Stops all use of the lost connection, and writes what the peer needs to continue it to MINE.
    int (*halt)(struct link *link, struct tcp_stream *lost, struct control_resume *mine);
    // After halt: continues where THEIRS, the peer's message, says. SECRET is that of the new
    // connection STREAM, which the link owns on success.
    int (*resume)(struct link *link, struct tcp_stream *lost, const struct control_resume *theirs,
                  struct control_stream *stream, const uint8_t secret[TLS_SECRET_BYTES]);
    // Worker: takes a connection of which it does not know yet.
    int (*take_first)(struct link *link, unsigned number, const struct control_resume *claim,
                      struct control_stream *stream);
    // Called with `state` of STREAM locked when it is lost, and when it is back.
    void (*changed)(struct tcp_stream *stream, bool lost);
    // Client: says that it leaves.
    void (*goodbye)(struct link *link);
};

// Sets link->reconnect. Returns 0 or -errno.
int tcp_reconnect_new(struct link *link, const struct reconnect_ops *ops,
                      const struct link_reconnect *plan);
// For the child of a fork, where the thread does not exist.
void tcp_reconnect_abandon(struct tcp_reconnect *reconnect);
void tcp_reconnect_end(
    struct link *link); // before the link is freed: ends the thread, if there is one
void tcp_reconnect_free(struct tcp_reconnect **reconnect);

#endif

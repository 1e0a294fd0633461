// SPDX-License-Identifier: BSD-3-Clause
// The bytes of one connection of a tcp link, in both directions. A stream may survive its
// connection: it counts the bytes that it sends and receives, keeps sent bytes until the peer has
// confirmed them, and continues over another connection at the byte that the peer lacks. Records
// and payloads do not notice.
#ifndef RGPU_TRANSPORT_TCP_STREAM_H
#define RGPU_TRANSPORT_TCP_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "transport/link/link_private.h"
#include "transport/tcp/tcp_log.h"
#include "transport/tcp/tcp_socket.h"

// After payloads of so many bytes they are acknowledged at once if no record leaves that does.
enum { TCP_ACK_PAYLOAD_BYTES = 256 * 1024 };

struct tcp_stream {
    struct link *link;
    struct tcp_wire wire;
    bool encrypted;  // the connection has TLS
    unsigned number; // 0: the link's own connection; else that of an extra one, plus 1
    size_t window;   // the receiver's: limit of what the peer may send ahead; 0: none

    pthread_mutex_t in;      // held while bytes are read
    pthread_mutex_t sending; // held by the thread that sends what is in the log
    pthread_mutex_t lock;    // of the log; the last one
    struct tcp_log log;

    _Atomic uint64_t received;     // bytes; changes under `in`
    _Atomic uint64_t reported;     // of these, acknowledged in records; under the link's own.lock
    _Atomic uint64_t acknowledged; // sent bytes that the peer has acknowledged in records
    _Atomic uint64_t confirmed;    // sent bytes that the peer has received for certain
    _Atomic uint64_t offered;      // position up to which bytes were sent, or are being sent

    // Without `survives` the rest is not used. It is set before other threads know the stream.
    bool survives;
    uint32_t timeout_ms; // how long a new connection is waited for
    uint32_t closed_ms;  // the same if the peer's host has closed the old one
    pthread_mutex_t state;
    pthread_cond_t changed;
    _Atomic bool lost, over; // over: there will be no other connection
    _Atomic unsigned age;    // number of connections before this one
    _Atomic uint64_t deadline;
    uint64_t lost_since;
    int error; // reason of the loss
    // Called with `state` locked when the connection is lost, and when it is back.
    void (*notify)(struct tcp_stream *stream, bool lost);
    void (*in_use)(struct tcp_stream *stream); // called when its end must be noticed
    // Acknowledges what was received, without waiting.
    void (*acknowledge)(struct tcp_stream *stream);
    uint32_t attempt; // worker: number of the client's last attempt to connect again
};

// Returns the received bytes that no record has acknowledged. Any thread.
static inline uint64_t tcp_stream_unreported(const struct tcp_stream *stream)
{
    uint64_t reported = atomic_load_explicit(&stream->reported, memory_order_relaxed);

    return atomic_load_explicit(&stream->received, memory_order_relaxed) - reported;
}

void tcp_stream_init(struct tcp_stream *stream, struct link *link, unsigned number);
// Takes ownership of the first connection.
void tcp_stream_begin(struct tcp_stream *stream, int fd, struct tls *tls);
void tcp_stream_free(struct tcp_stream *stream);

// Receives bytes that have arrived, or waits for them up to two seconds if WAIT (not with TLS).
// Returns their number, 0 if there are none yet, or -errno if the link is down.
ssize_t tcp_stream_receive(struct tcp_stream *stream, void *to, size_t room, bool wait);
// Waits until a read may succeed (1), for the eventfd EVENT (TCP_SOCKET_EVENT) or until DEADLINE
// (0). Returns -errno if the link is down.
int tcp_stream_wait(struct tcp_stream *stream, int event, uint64_t deadline);

// Sends what is in the log. The caller holds `sending`, which is given up while the stream has no
// connection. If WAIT is false, returns -EAGAIN instead
// of waiting for the connection.
int tcp_stream_send(struct tcp_stream *stream, bool wait);
// Adds BYTES to those that the peer has acknowledged in records. Returns false if it has more than
// were sent.
bool tcp_stream_acknowledged(struct tcp_stream *stream, uint64_t bytes);
// Returns true if a read would not block.
bool tcp_stream_pending(struct tcp_stream *stream);
// Makes the memory of payloads before the position UNTIL independent of the caller's.
void tcp_stream_settle(struct tcp_stream *stream, uint64_t until);

// ---- another connection ----

static inline bool tcp_stream_lost(const struct tcp_stream *stream)
{
    return atomic_load_explicit(&stream->lost, memory_order_acquire);
}

// Marks the connection of age AGE as lost because of ERROR, or the link as down if the stream does
// not survive that. Returns 0 or the error of the link.
int tcp_stream_break(struct tcp_stream *stream, unsigned age, int error, const char *doing);
// If the time for a new connection is over, marks the link as down. Returns true while the
// connection is lost.
bool tcp_stream_check(struct tcp_stream *stream);
// Waits for another connection as long as if the peer's host had fallen silent.
void tcp_stream_extend(struct tcp_stream *stream);
// There will be no other connection: what has come on the lost one is still received, then the link
// is down.
void tcp_stream_give_up(struct tcp_stream *stream);
// Stops all use of the old connection and returns the number of received bytes, which then stays.
uint64_t tcp_stream_halt(struct tcp_stream *stream);
// After tcp_stream_halt(): continues over FD and TLS, which the stream owns on success. The peer
// has received RECEIVED bytes. Returns -EPROTO if that cannot be.
int tcp_stream_continue(struct tcp_stream *stream, int fd, struct tls *tls, uint64_t received);
void tcp_stream_wake(struct tcp_stream *stream); // ends all waits, because the link is down

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Extra connections: further connections of a tcp link, which carry parts of a large payload in
// parallel with the link's own connection. Each extra connection has a thread for each direction,
// created on first use, because one connection is mostly limited by the processor that copies its
// bytes. Records, small payloads and the first part of large ones use the link's own connection,
// which therefore determines the order. A payload is complete when all of its parts are. An extra
// connection that fails makes the link fail. The parts of a few payloads may queue at an extra
// connection, so that a payload does not wait for the slowest part of the previous one.
#ifndef RGPU_TRANSPORT_TCP_EXTRA_H
#define RGPU_TRANSPORT_TCP_EXTRA_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "transport/link/link_private.h"
#include "transport/tcp/tcp_socket.h"

enum {
    TCP_PART_MIN = 64 * 1024, // less is not worth a thread's turn
    TCP_PARTS_AHEAD = 4,      // of one extra connection
};

struct tcp_part {
    uint8_t *at;
    size_t length;
};

// One direction: a thread that moves a part of each large payload, in their order.
struct tcp_half {
    struct link *link;
    struct tcp_wire *wire;
    bool sends;
    bool runs; // used by its owner: the thread that sends, or receives, on the link
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t came, went; // a part
    bool sleeps, ending;       // under lock: the thread
    unsigned settling;         // under lock: threads that wait for parts to complete
    struct tcp_part parts[TCP_PARTS_AHEAD];
    _Atomic unsigned queued, moved; // parts so far; the owner's, and the thread's
};

struct tcp_extra_connection {
    struct tcp_wire wire;
    struct tcp_half out, in;
};

struct tcp_extra {
    struct link *link;
    struct tcp_extra_connection list[LINK_EXTRA_MAX];
    pthread_mutex_t lock;
    pthread_cond_t came;
    unsigned offered;           // limit of the number of extra connections
    unsigned present;           // under lock
    _Atomic unsigned receiving; // how many the peer may use, once all are there
    _Atomic unsigned sending;   // and how many this side may
};

void tcp_extra_init(struct tcp_extra *extra, struct link *link);
// Adds extra connection number INDEX, and takes ownership of its connection.
int tcp_extra_add(struct tcp_extra *extra, unsigned index, int fd, struct tls *tls);
// Sets the final number of extra connections, COUNT: after they have all connected the peer may use
// them, and if SENDING this side too. -EINVAL: the number is not as offered.
int tcp_extra_stand(struct tcp_extra *extra, unsigned count, bool sending);

// Returns the number of extra connections that take a part of a payload that this side sends.
unsigned tcp_extra_use(struct tcp_extra *extra, size_t length);
// Returns true if the peer may have sent parts over that many; waits for those in flight.
bool tcp_extra_await(struct tcp_extra *extra, unsigned used);
// Starts the threads of USED extra connections on their parts, and returns the length of the first
// part, which the caller sends or receives itself. Adds the started parts to AHEAD.
size_t tcp_extra_begin(struct tcp_extra *extra, bool sends, unsigned used, void *payload,
                       size_t length, struct link_ahead *ahead);
// Waits until the parts in AHEAD are done; any thread may call.
void tcp_extra_settle(struct tcp_extra *extra, const struct link_ahead *ahead);

void tcp_extra_wake(struct tcp_extra *extra);
void tcp_extra_close(struct tcp_extra *extra);
void tcp_extra_free(struct tcp_extra *extra);

#endif

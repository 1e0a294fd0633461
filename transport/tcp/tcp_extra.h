// SPDX-License-Identifier: BSD-3-Clause
// Extra connections of a tcp link. They carry parts of a large payload in parallel with the link's
// main connection, because one connection is limited by the processor that copies its bytes. Each
// has a thread for each direction, created at first use. Records, small payloads and the first part
// of each large payload use the main connection, which thereby determines the order. A payload is
// complete when all its parts are. A few parts may queue at an extra connection, so that a payload
// need not wait for the slowest part of the previous one. Each is a
// stream of its own (tcp_stream.h); if one fails for good, the link fails.
#ifndef RGPU_TRANSPORT_TCP_EXTRA_H
#define RGPU_TRANSPORT_TCP_EXTRA_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "transport/link/link_private.h"
#include "transport/tcp/tcp_stream.h"

enum {
    TCP_PART_MIN = 64 * 1024, // smaller parts are not worth a thread switch
    TCP_PARTS_AHEAD = 4,      // maximum queued parts of one extra connection
};

struct tcp_part {
    uint8_t *at;
    size_t length;
};

// One direction of an extra connection: a thread that moves the queued parts in order.
struct tcp_half {
    struct link *link;
    struct tcp_stream *stream;
    bool sends;
    bool runs; // the thread exists; used by the link's sender or receiver only
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t came, went; // a part was queued; a part is done
    bool sleeps, ending;       // guarded by lock: state of the thread
    unsigned settling;         // guarded by lock: threads that wait for parts
    struct tcp_part parts[TCP_PARTS_AHEAD];
    // number of parts so far: queued by the owner, moved by the thread
    _Atomic unsigned queued, moved;
    uint64_t bytes; // of the queued parts, from the beginning on
    bool again;     // guarded by lock: what was sent over a lost connection must be sent again
};

struct tcp_extra_connection {
    struct tcp_stream stream;
    struct tcp_half out, in;
};

struct tcp_extra {
    struct link *link;
    struct tcp_extra_connection list[LINK_EXTRA_MAX];
    pthread_mutex_t lock;
    pthread_cond_t came;
    unsigned offered;           // maximum number of extra connections
    unsigned present;           // number of extra connections; guarded by lock
    _Atomic unsigned receiving; // number that the peer may use; 0 until all are connected
    _Atomic unsigned sending;   // number that this side may use
};

void tcp_extra_init(struct tcp_extra *extra, struct link *link);
// Adds extra connection number INDEX and takes ownership of its socket and TLS.
int tcp_extra_add(struct tcp_extra *extra, unsigned index, int fd, struct tls *tls);
// Sets the final number of extra connections. Once they are all connected, the peer may use them
// and, with SENDING, this side too. Returns -EINVAL if the number was not offered.
int tcp_extra_stand(struct tcp_extra *extra, unsigned count, bool sending);

// Returns the number of extra connections to use for sending a payload of LENGTH bytes.
unsigned tcp_extra_use(struct tcp_extra *extra, size_t length);
// Waits for connections in progress until USED extra connections can receive. Returns false if the
// peer may not use as many.
bool tcp_extra_await(struct tcp_extra *extra, unsigned used);
// Queues the parts of a payload at USED extra connections and adds them to AHEAD. Returns the
// length of the first part, which the caller sends or receives itself.
size_t tcp_extra_begin(struct tcp_extra *extra, bool sends, unsigned used, void *payload,
                       size_t length, struct link_ahead *ahead);
// Waits until the parts in AHEAD are done. Any thread may call.
void tcp_extra_settle(struct tcp_extra *extra, const struct link_ahead *ahead);

// Continues sending after extra connection number INDEX was made again.
void tcp_extra_again(struct tcp_extra *extra, unsigned index);

// tcp_extra_wake() ends all waits, because the link is down. tcp_extra_close() closes the sockets
// in a forked child. tcp_extra_free() stops the threads and frees.
void tcp_extra_wake(struct tcp_extra *extra);
void tcp_extra_close(struct tcp_extra *extra);
void tcp_extra_free(struct tcp_extra *extra);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Strands: further connections of a tcp link, over which the parts of a large payload go beside its own. Each has a
// thread for each direction, made when it has something to do, for what limits one connection is mostly the processor
// that copies for it. Records, small payloads and the first part stay with the link's own connection, so the order of
// everything is its order; a payload is over when all of its parts are, and a strand that fails takes the link along. The
// parts of a few payloads may wait for a strand, so that none of them has to wait for the slowest of the payload before.
#ifndef RGPU_TRANSPORT_TCP_STRANDS_H
#define RGPU_TRANSPORT_TCP_STRANDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "transport/link_private.h"
#include "transport/tcp_socket.h"

enum {
    TCP_PART_MIN = 64 * 1024, // less is not worth a thread's turn
    TCP_PARTS_AHEAD = 4,      // of one strand
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
    bool runs; // its owner's, which is who sends, or who receives, on the link
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t came, went; // a part
    bool sleeps, ending;       // under lock: the thread
    unsigned settling;         // under lock: who wait for parts to be through
    struct tcp_part parts[TCP_PARTS_AHEAD];
    _Atomic unsigned queued, moved; // parts so far; the owner's, and the thread's
};

struct tcp_strand {
    struct tcp_wire wire;
    struct tcp_half out, in;
};

struct tcp_strands {
    struct link *link;
    struct tcp_strand list[LINK_STRANDS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t came;
    unsigned offered;           // at most so many will come
    unsigned present;           // under lock
    _Atomic unsigned receiving; // how many the peer may use, once all are there
    _Atomic unsigned sending;   // and how many this side may
};

void tcp_strands_init(struct tcp_strands *strands, struct link *link);
// Strand number INDEX, whose connection is taken.
int tcp_strands_add(struct tcp_strands *strands, unsigned index, int fd, struct tls *tls);
// There will be COUNT of them: once they are there the peer may use them, and SENDING: this side may. -EINVAL: they are
// not what was offered.
int tcp_strands_stand(struct tcp_strands *strands, unsigned count, bool sending);

// How many strands take a part of a payload that this side sends.
unsigned tcp_strands_use(struct tcp_strands *strands, size_t length);
// Whether the peer may have sent parts over so many; waits for those that are on their way.
bool tcp_strands_await(struct tcp_strands *strands, unsigned used);
// Sets the threads of USED strands on their parts, and gives the length of the first part, which is the caller's. What
// is under way is added to AHEAD.
size_t tcp_strands_begin(struct tcp_strands *strands, bool sends, unsigned used, void *payload,
                         size_t length, struct link_ahead *ahead);
// Waits until that is through; any thread may.
void tcp_strands_settle(struct tcp_strands *strands, const struct link_ahead *ahead);

void tcp_strands_wake(struct tcp_strands *strands);
void tcp_strands_close(struct tcp_strands *strands);
void tcp_strands_free(struct tcp_strands *strands);

#endif

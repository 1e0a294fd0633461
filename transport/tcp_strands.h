// SPDX-License-Identifier: BSD-3-Clause
// Strands: further connections of a tcp link, over which the parts of a large payload go beside its own. Each has a
// thread for each direction, made when it has something to do, for what limits one connection is mostly the processor
// that copies for it. Records, small payloads and the first part stay with the link's own connection, so the order of
// everything is its order; a payload is over when all of its parts are, and a strand that fails takes the link along.
#ifndef RGPU_TRANSPORT_TCP_STRANDS_H
#define RGPU_TRANSPORT_TCP_STRANDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "transport/link_private.h"
#include "transport/tcp_socket.h"

enum {
    TCP_PART_MIN = 64 * 1024, // less is not worth a thread's turn
};

// One direction: a thread that moves a part of each large payload.
struct tcp_half {
    struct link *link;
    struct tcp_wire *wire;
    bool sends;
    bool runs; // its owner's, which is who sends, or who receives, on the link
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool sleeps, owner_sleeps, ending; // under lock
    _Atomic bool due;                  // the part is to be moved, or is being so
    uint8_t *at;
    size_t length;
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
// Sets the threads of USED strands on their parts, and gives the length of the first part, which is the caller's.
size_t tcp_strands_begin(struct tcp_strands *strands, bool sends, unsigned used, void *payload,
                         size_t length);
// Waits until they are through.
void tcp_strands_end(struct tcp_strands *strands, bool sends, unsigned used);

void tcp_strands_wake(struct tcp_strands *strands);
void tcp_strands_close(struct tcp_strands *strands);
void tcp_strands_free(struct tcp_strands *strands);

#endif

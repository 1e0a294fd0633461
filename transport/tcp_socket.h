// SPDX-License-Identifier: BSD-3-Clause
// The sockets under a tcp link: their settings, waiting for one while the peer's host is alive, and bytes over it.
#ifndef RGPU_TRANSPORT_TCP_SOCKET_H
#define RGPU_TRANSPORT_TCP_SOCKET_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/tls.h"
#include "transport/link_private.h"

enum { TCP_SOCKET_READY = 1, TCP_SOCKET_EVENT = 2, TCP_SOCKET_DEAD_SECONDS = 10 };

// Sends at once, finds dead peers while idle. Also takes unix sockets, which need neither.
void tcp_socket_prepare(int fd);
// Has calls that read wait by themselves, for at most a moment; for tcp_wire_receive_soon().
void tcp_socket_let_wait(int fd);

// Waits for EVENTS on FD (TCP_SOCKET_READY), for the event file EVENT (-1: none) to become readable
// (TCP_SOCKET_EVENT) or the deadline (0). -ETIMEDOUT: the peer has not answered for
// TCP_SOCKET_DEAD_SECONDS although it should have.
int tcp_socket_wait(int fd, short events, int event, uint64_t deadline);

// A socket and what protects it. The kernel does not reach all memory of a program: pages that a handler of the program
// opens when they are touched (a garbage collector's, a checkpointer's) are touched here, by way of a copy.
struct tcp_wire {
    int fd;          // non-blocking, or used as if it were
    struct tls *tls; // NULL: plain
};

// What is there: bytes, -EAGAIN, 0: the peer has gone, -errno.
ssize_t tcp_wire_receive(struct tcp_wire *wire, void *to, size_t room);
// The same of what comes within two seconds, in one system call. Not inside TLS.
ssize_t tcp_wire_receive_soon(struct tcp_wire *wire, void *to, size_t room);
// Sends all of PARTS, changing them: 0, or what the link has failed with.
int tcp_wire_send_all(struct link *link, struct tcp_wire *wire, struct iovec *parts, int count);
// Marks the link as down for that.
int tcp_wire_failed(struct link *link, const struct tcp_wire *wire, int error, const char *doing);

#endif

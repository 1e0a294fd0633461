// SPDX-License-Identifier: BSD-3-Clause
// The sockets under a tcp link: their settings, waiting for one while the peer's host is alive, and
// bytes over it.
#ifndef RGPU_TRANSPORT_TCP_SOCKET_H
#define RGPU_TRANSPORT_TCP_SOCKET_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/security/tls.h"
#include "transport/link/link_private.h"

enum { TCP_SOCKET_READY = 1, TCP_SOCKET_EVENT = 2, TCP_SOCKET_DEAD_SECONDS = 10 };

// Sends at once, finds dead peers while idle. Also takes unix sockets, which need neither.
void tcp_socket_prepare(int fd);
// Has calls that read wait by themselves, for at most a moment; for tcp_wire_receive_soon().
void tcp_socket_let_wait(int fd);

// Waits for EVENTS on FD (TCP_SOCKET_READY), for the event file EVENT (-1: none) to become readable
// (TCP_SOCKET_EVENT) or the deadline (0). -ETIMEDOUT: the peer has not answered for
// TCP_SOCKET_DEAD_SECONDS although it should have.
int tcp_socket_wait(int fd, short events, int event, uint64_t deadline);

// A socket and its protection. System calls fail on pages that a handler of the program opens at
// their first access, such as a garbage collector's or a checkpointer's. For these the bytes go
// through a copy, whose access runs the handler.
struct tcp_wire {
    int fd;          // non-blocking, or used as if it were
    struct tls *tls; // NULL: plain
};

// Receives the present bytes: their number, -EAGAIN, 0: the peer has gone, -errno.
ssize_t tcp_wire_receive(struct tcp_wire *wire, void *to, size_t room);
// The same in one system call, for bytes that arrive within two seconds. Not inside TLS.
ssize_t tcp_wire_receive_soon(struct tcp_wire *wire, void *to, size_t room);
// Sends all of PARTS, and changes them. Returns 0 or the error of the link.
int tcp_wire_send_all(struct link *link, struct tcp_wire *wire, struct iovec *parts, int count);
// Marks the link as down for that.
int tcp_wire_failed(struct link *link, const struct tcp_wire *wire, int error, const char *doing);

#endif

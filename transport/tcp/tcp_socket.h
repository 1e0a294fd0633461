// SPDX-License-Identifier: BSD-3-Clause
// Sockets of a tcp link: options, waiting with detection of a dead peer, sending and receiving.
#ifndef RGPU_TRANSPORT_TCP_SOCKET_H
#define RGPU_TRANSPORT_TCP_SOCKET_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/security/tls.h"
#include "transport/link/link_private.h"

enum { TCP_SOCKET_READY = 1, TCP_SOCKET_EVENT = 2, TCP_SOCKET_DEAD_SECONDS = 10 };

// Sets the socket options: no delay, and keepalive probes that detect a dead peer. Harmless for
// unix sockets.
void tcp_socket_prepare(int fd);
// Limits how many bytes the peer may send before they are read; 0: no limit.
void tcp_socket_limit_window(int fd, size_t bytes);
// Makes reads block, for at most two seconds; for tcp_wire_receive_soon().
void tcp_socket_let_wait(int fd);

// Waits for EVENTS on FD (returns TCP_SOCKET_READY), for the eventfd EVENT (-1: none; returns
// TCP_SOCKET_EVENT) or for the deadline (returns 0). Returns -ETIMEDOUT if the peer has not
// acknowledged data for TCP_SOCKET_DEAD_SECONDS.
int tcp_socket_wait(int fd, short events, int event, uint64_t deadline);

// A socket, perhaps with TLS. A system call fails on memory that a page fault handler of the
// program has protected, such as that of a garbage collector or checkpointer. The bytes are then
// copied, which runs the handler.
struct tcp_wire {
    int fd;          // used without blocking
    struct tls *tls; // NULL: no TLS
};

// Receives bytes that have arrived. Returns their number, -EAGAIN, 0 if the peer has closed, or
// -errno.
ssize_t tcp_wire_receive(struct tcp_wire *wire, void *to, size_t room);
// As tcp_wire_receive(), but blocks for up to two seconds in the system call. Not with TLS.
ssize_t tcp_wire_receive_soon(struct tcp_wire *wire, void *to, size_t room);
// Sends without blocking. Returns the number of bytes, at least 1, or -errno.
ssize_t tcp_wire_send_some(struct tcp_wire *wire, struct iovec *parts, int count);
// Returns true if the peer has shut the connection down while its window is closed. It takes
// nothing then, and the kernel reports an error only after the peer closes its socket.
bool tcp_wire_takes_no_more(const struct tcp_wire *wire);
// After that: waits up to a second for the thread that receives to read the peer's last records,
// which may have the reason, and then the end, with which the link is down or LOST is set.
void tcp_wire_await_end(const struct link *link, const struct tcp_wire *wire,
                        const _Atomic bool *lost);
// Marks the link as down because DOING failed with ERROR.
int tcp_wire_failed(struct link *link, const struct tcp_wire *wire, int error, const char *doing);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The socket under a tcp link: its settings, and waiting for it while the peer's host is alive.
#ifndef RGPU_TRANSPORT_TCP_SOCKET_H
#define RGPU_TRANSPORT_TCP_SOCKET_H

#include <stdint.h>

enum { TCP_SOCKET_READY = 1, TCP_SOCKET_EVENT = 2, TCP_SOCKET_DEAD_SECONDS = 10 };

// Sends at once, finds dead peers while idle. Also takes unix sockets, which need neither.
void tcp_socket_prepare(int fd);

// Waits for EVENTS on FD (TCP_SOCKET_READY), for the event file EVENT (-1: none) to become readable
// (TCP_SOCKET_EVENT) or the deadline (0). -ETIMEDOUT: the peer has not answered for
// TCP_SOCKET_DEAD_SECONDS although it should have.
int tcp_socket_wait(int fd, short events, int event, uint64_t deadline);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Transfers bytes between the processes of a team, over non-blocking sockets. All functions return
// 0 or -errno; -ETIMEDOUT after DEADLINE.
#ifndef RGPU_TEAM_PROCESS_GROUP_BYTES_H
#define RGPU_TEAM_PROCESS_GROUP_BYTES_H

#include <stddef.h>
#include <stdint.h>

int bytes_await(int fd, short what, uint64_t deadline);
int bytes_send(int fd, const void *data, size_t size, uint64_t deadline);
// -ECONNRESET: the other side has closed.
int bytes_take(int fd, void *data, size_t size, uint64_t deadline);

#endif

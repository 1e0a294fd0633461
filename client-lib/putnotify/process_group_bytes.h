// SPDX-License-Identifier: BSD-3-Clause
// Transfers bytes between the processes of a team, over non-blocking sockets. All functions wait
// until DEADLINE, in nanoseconds of clock_ns, or without limit if it is UINT64_MAX. They return 0,
// -ETIMEDOUT after the deadline, or another -errno.
#ifndef RGPU_TEAM_PROCESS_GROUP_BYTES_H
#define RGPU_TEAM_PROCESS_GROUP_BYTES_H

#include <stddef.h>
#include <stdint.h>

// Sends all SIZE bytes.
int bytes_send(int fd, const void *data, size_t size, uint64_t deadline);
// Receives exactly SIZE bytes. Returns -ECONNRESET if the other side has closed the connection.
int bytes_take(int fd, void *data, size_t size, uint64_t deadline);

#endif

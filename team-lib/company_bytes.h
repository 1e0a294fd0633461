// SPDX-License-Identifier: BSD-3-Clause
// Bytes between the processes of a team, over sockets that do not block. All return 0 or -errno; -ETIMEDOUT after DEADLINE.
#ifndef RGPU_TEAM_COMPANY_BYTES_H
#define RGPU_TEAM_COMPANY_BYTES_H

#include <stddef.h>
#include <stdint.h>

int bytes_await(int fd, short what, uint64_t deadline);
int bytes_send(int fd, const void *data, size_t size, uint64_t deadline);
// -ECONNRESET: the other side has closed.
int bytes_take(int fd, void *data, size_t size, uint64_t deadline);

#endif

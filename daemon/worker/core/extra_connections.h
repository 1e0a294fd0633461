// SPDX-License-Identifier: BSD-3-Clause
// Adds further connections of the client to the session's tcp link.
#ifndef RGPU_WORKER_EXTRA_CONNECTIONS_H
#define RGPU_WORKER_EXTRA_CONNECTIONS_H

#include "common/net/control.h"

// Takes connection number INDEX with FD, and the secret that its two ends share. Main thread only.
void extra_came(unsigned index, int fd, const uint8_t secret[CONTROL_SECRET_BYTES]);

#endif

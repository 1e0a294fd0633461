// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_EXTRA_CONNECTIONS_H
#define RGPU_WORKER_EXTRA_CONNECTIONS_H

#include "common/net/control.h"

// Adds connection number INDEX to the session's tcp link. Takes ownership of FD. SECRET is the
// secret of its two ends. Main thread only.
void extra_came(unsigned index, int fd, const uint8_t secret[CONTROL_SECRET_BYTES]);

#endif

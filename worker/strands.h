// SPDX-License-Identifier: BSD-3-Clause
// Further connections of the client, which become strands of the session's tcp link.
#ifndef RGPU_WORKER_STRANDS_H
#define RGPU_WORKER_STRANDS_H

#include "common/control.h"

// Number INDEX has come, with FD, which is taken, and the secret that its two ends share. The main thread.
void strands_came(unsigned index, int fd, const uint8_t secret[CONTROL_SECRET_BYTES]);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_SHORTAGE_H
#define RGPU_WORKER_SHORTAGE_H

#include "daemon/worker/request/serve.h"

// Logs why memory was exhausted, if that made the request fail: the GPU, a budget, or a limit of
// the process. Thread-safe.
void shortage_note(const struct serve *serve);

#endif

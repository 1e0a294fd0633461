// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_SHORTAGE_H
#define RGPU_WORKER_SHORTAGE_H

#include "daemon/worker/request/serve.h"

// If a request has failed without memory, logs what was exhausted: the GPU, a budget, or a limit of
// the process. Thread-safe.
void shortage_note(const struct serve *serve);

#endif

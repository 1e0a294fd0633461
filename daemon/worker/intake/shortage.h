// SPDX-License-Identifier: BSD-3-Clause
// Says in the log by what a request failed that wanted memory: the GPU, a budget, or a limit of the
// process.
#ifndef RGPU_WORKER_SHORTAGE_H
#define RGPU_WORKER_SHORTAGE_H

#include "daemon/worker/request/serve.h"

// Logs the shortage by which a request has failed; other failures are not logged. Any thread.
void shortage_note(const struct serve *serve);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_SERVE_MEMORY_H
#define RGPU_WORKER_SERVE_MEMORY_H

// Must be called when the driver is loaded: wraps some of its functions.
void memory_prepare(void);

#endif

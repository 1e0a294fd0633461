// SPDX-License-Identifier: BSD-3-Clause
// Device memory (serve_memory.c).
#ifndef RGPU_WORKER_SERVE_MEMORY_H
#define RGPU_WORKER_SERVE_MEMORY_H

// Once the driver is loaded: what stands in front of some of its functions.
void memory_prepare(void);

#endif

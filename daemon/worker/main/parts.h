// SPDX-License-Identifier: BSD-3-Clause
// Prepares the parts of the worker for requests (parts.c).
#ifndef RGPU_WORKER_PARTS_H
#define RGPU_WORKER_PARTS_H

// Call once, when the driver is loaded and before gpus_discover().
void parts_prepare(void);

#endif

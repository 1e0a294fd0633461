// SPDX-License-Identifier: BSD-3-Clause
// Linking on the box (serve_linker.c).
#ifndef RGPU_WORKER_SERVE_LINKER_H
#define RGPU_WORKER_SERVE_LINKER_H

// Once the driver is loaded: what stands in front of some of its functions.
void linker_prepare(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory of the worker that mirrors the client's, for links without shared memory.
#ifndef RGPU_WORKER_HOST_MIRRORS_H
#define RGPU_WORKER_HOST_MIRRORS_H

// Must be called before requests are served.
void host_mirrors_prepare(void);

#endif

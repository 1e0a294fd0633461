// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_PARTS_H
#define RGPU_WORKER_PARTS_H

// Prepares all parts of the worker for requests. Must be called once, after the driver is loaded
// and before gpus_discover().
void parts_prepare(void);

#endif

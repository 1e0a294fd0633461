// SPDX-License-Identifier: BSD-3-Clause
// Functions of the client that the GPU's work calls (serve_host_function.c).
#ifndef RGPU_WORKER_SERVE_HOST_FUNCTION_H
#define RGPU_WORKER_SERVE_HOST_FUNCTION_H

#include <stdint.h>

// In a thread of the driver's: has the client call what TOKEN stands for, and waits until it has.
void host_function_call(uint64_t token);

#endif

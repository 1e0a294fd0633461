// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_SERVE_HOST_FUNCTION_H
#define RGPU_WORKER_SERVE_HOST_FUNCTION_H

#include <stdint.h>

// Makes the client call the function TOKEN and waits until it has returned. Called in a thread of
// the driver.
void host_function_call(uint64_t token);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_DRIVER_LOAD_H
#define RGPU_WORKER_DRIVER_LOAD_H

#include <stddef.h>

#include "worker_driver.h"

// Loads the GPU's driver library and finds its functions. Returns 0, or -errno and the remedy in
// TEXT.
int driver_load(const char *path, char *text, size_t room);
const char *driver_error_name(CUresult result);

#endif

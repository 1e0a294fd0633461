// SPDX-License-Identifier: BSD-3-Clause
// Loads the GPU's driver (driver_load.c).
#ifndef RGPU_WORKER_DRIVER_LOAD_H
#define RGPU_WORKER_DRIVER_LOAD_H

#include <stddef.h>

#include "worker_driver.h"

// Loads the library and finds its functions. On failure returns -errno, and TEXT has the remedy.
int driver_load(const char *path, char *text, size_t room);
const char *driver_error_name(CUresult result);

#endif

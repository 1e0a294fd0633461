// SPDX-License-Identifier: BSD-3-Clause
// Modules, their functions, and global variables.
#ifndef RGPU_CLIENT_MODULES_H
#define RGPU_CLIENT_MODULES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

struct jit_options;

// Loads an image of the program. The box's answer goes to jit.
CUresult module_load(const void *image, struct jit_options *jit, CUmodule *module);
CUresult module_unload(CUmodule module);
CUresult module_function(CUmodule module, const char *name, CUfunction *function);
// Enters a global variable of a module or library into the address book.
CUresult global_enter(CUdeviceptr address, size_t size, bool managed);

#endif

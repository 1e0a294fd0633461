// SPDX-License-Identifier: BSD-3-Clause
// Modules, their functions, and global variables.
#ifndef RGPU_CLIENT_MODULES_H
#define RGPU_CLIENT_MODULES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

struct jit_options;

// Loads an image of the program into the current context. The box's answer goes to *JIT.
CUresult module_load(const void *image, struct jit_options *jit, CUmodule *module);
CUresult module_unload(CUmodule module);
CUresult module_function(CUmodule module, const char *name, CUfunction *function);
// Enters a global variable of SIZE bytes of a module or library into the address book. MANAGED: the
// variable is a managed one.
CUresult global_enter(CUdeviceptr address, size_t size, bool managed);

#endif

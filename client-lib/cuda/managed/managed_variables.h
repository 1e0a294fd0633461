// SPDX-License-Identifier: BSD-3-Clause
// Mirrors managed variables of modules. The box's driver chooses their addresses and puts several
// into one page.
#ifndef RGPU_CLIENT_MANAGED_VARIABLES_H
#define RGPU_CLIENT_MANAGED_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Records a variable of the current context's box. If it is managed, the program can use it from
// here on.
CUresult managed_variable_enter(CUdeviceptr address, size_t size);
// A library's managed variables are available without a context, but moving their bytes needs one.
// Makes the primary context current if no context is, and sets *ENTERED if it did.
CUresult managed_variables_need_context(CUlibrary library, bool *entered);
// Called before a module is unloaded, and after: variables of that module lose their mirrors.
void managed_variables_leave(void);
void managed_variables_left(void);

#endif

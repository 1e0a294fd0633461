// SPDX-License-Identifier: BSD-3-Clause
// Managed variables of modules. The box's driver chooses where they are, several of them in the same pages.
#ifndef RGPU_CLIENT_MANAGED_VARIABLES_H
#define RGPU_CLIENT_MANAGED_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Enters a variable of the current context's box; where it is managed, the program can use it from now on.
CUresult managed_variable_enter(CUdeviceptr address, size_t size);
// Managed variables of a library can be had without a context, but their bytes are moved in one. Makes one current
// where there is none, and says so.
CUresult managed_variables_need_context(CUlibrary library, bool *entered);
// A module is unloaded (before), or has been (after): pages that are managed no more are not the program's either.
void managed_variables_leave(void);
void managed_variables_left(void);

#endif

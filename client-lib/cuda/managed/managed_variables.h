// SPDX-License-Identifier: BSD-3-Clause
// Mirrors the managed variables (__managed__) of modules. The box's driver chooses their addresses
// and may put several into one page.
#ifndef RGPU_CLIENT_MANAGED_VARIABLES_H
#define RGPU_CLIENT_MANAGED_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Adds the variable of SIZE bytes at ADDRESS on the current context's box, if it is managed. On
// success the program can access the variable.
CUresult managed_variable_enter(CUdeviceptr address, size_t size);
// Makes the primary context current if no context is, and sets *ENTERED to true if it did; the
// caller then pops that context. A program may access the managed variables of LIBRARY without a
// context, but moving their bytes needs one.
CUresult managed_variables_need_context(CUlibrary library, bool *entered);
// Called before a module is unloaded, and afterwards: remove the mirrors of that module's
// variables.
void managed_variables_leave(void);
void managed_variables_left(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Libraries (CUlibrary) and kernels (CUkernel), which a program may use on several boxes. Any
// thread may call.
#ifndef RGPU_CLIENT_LIBRARIES_H
#define RGPU_CLIENT_LIBRARIES_H

#include "client-lib/cuda/objects/object.h"

struct image;
struct jit_options;

// Loads IMAGE as a library into the session of the current context, or of the first box if there is
// no context. The box's answer goes to *JIT.
CUresult library_load(const struct image *image, struct jit_options *jit, CUlibrary *library);
// Unloads a library from all sessions, and ends its kernels.
CUresult library_unload(CUlibrary library);
// Finds the kernel NAME of a library.
CUresult library_kernel(CUlibrary library, const char *name, CUkernel *kernel);
// Returns the function of KERNEL in CONTEXT. The library owns the function.
CUresult kernel_function(CUkernel kernel, const struct object *context, CUfunction *function);

// Returns the object of the same library or kernel in SESSION, and loads the library there on first
// use. Returns NULL with the error in *RESULT on failure.
struct object *library_twin(struct object *object, struct box_session *session, CUresult *result);

// Ends the handles of the functions of CONTEXT (a handle), which has ended: those of its modules
// and of kernels.
void code_forget_context(uint64_t context);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Libraries and kernels in several sessions.
#ifndef RGPU_CLIENT_LIBRARIES_H
#define RGPU_CLIENT_LIBRARIES_H

#include "client-lib/cuda/objects/object.h"

struct image;
struct jit_options;

// Loads a library into the session of the current context, or of the first box. The box's answer
// goes to jit.
CUresult library_load(const struct image *image, struct jit_options *jit, CUlibrary *library);
CUresult library_unload(CUlibrary library);
CUresult library_kernel(CUlibrary library, const char *name, CUkernel *kernel);
// Returns the kernel's function in a context.
CUresult kernel_function(CUkernel kernel, const struct object *context, CUfunction *function);

// Return the same library or kernel in another session, and load it there on first use. NULL with
// *RESULT on failure.
struct object *library_twin(struct object *object, struct box_session *session, CUresult *result);

// Forgets the functions of a context that has ended: those of its modules, and those of kernels.
void code_forget_context(uint64_t context);

#endif

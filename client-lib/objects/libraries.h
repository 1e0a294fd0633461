// SPDX-License-Identifier: BSD-3-Clause
// Libraries and kernels in several sessions.
#ifndef RGPU_CLIENT_LIBRARIES_H
#define RGPU_CLIENT_LIBRARIES_H

#include "client-lib/objects/object.h"

struct image;
struct jit_options;

// Loads it into the session of the current context, or of the first box; jit has the box's answer.
CUresult library_load(const struct image *image, struct jit_options *jit, CUlibrary *library);
CUresult library_unload(CUlibrary library);
CUresult library_kernel(CUlibrary library, const char *name, CUkernel *kernel);
// The kernel's function in a context.
CUresult kernel_function(CUkernel kernel, const struct object *context, CUfunction *function);

// The same library or kernel in another session, loaded there on first use; NULL with *RESULT.
struct object *library_twin(struct object *object, struct box_session *session, CUresult *result);

// Forgets the functions of a context that has gone: those of its modules, and those that kernels
// had there.
void code_forget_context(uint64_t context);

#endif

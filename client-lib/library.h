// Libraries and kernels in several sessions.
#ifndef RGPU_CLIENT_LIBRARY_H
#define RGPU_CLIENT_LIBRARY_H

#include "client-lib/object.h"

// The same library or kernel in another session, loaded there on first use; NULL with *RESULT.
struct object *library_twin(struct object *object, struct session *session, CUresult *result);

// The parameter layout of a function or kernel, asked for once; NULL with *RESULT.
struct parameter_layout *function_layout(struct object *function, CUresult *result);

// Forgets the functions of a context that has gone: those of its modules, and those that kernels
// had there.
void code_forget_context(uint64_t context);

#endif

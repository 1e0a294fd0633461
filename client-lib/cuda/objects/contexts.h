// SPDX-License-Identifier: BSD-3-Clause
// The contexts of the program. Devices are in the program's numbering. Any thread may call.
#ifndef RGPU_CLIENT_CONTEXTS_H
#define RGPU_CLIENT_CONTEXTS_H

#include <stdbool.h>

#include "client-lib/cuda/objects/object.h"

// A device's primary context. primary_context returns its handle, active or not; primary_retain
// adds a reference, and primary_drop releases one, or with RESET all.
CUresult primary_context(CUdevice dev, CUcontext *context);
CUresult primary_retain(CUdevice dev, CUcontext *context);
CUresult primary_drop(CUdevice dev, bool reset);
// Set the flags of a primary context; query its flags, and whether it is active.
CUresult primary_set_flags(CUdevice dev, unsigned int flags);
CUresult primary_state(CUdevice dev, unsigned int *flags, int *active);

// Creates a context of the program and makes it current; destroys a context.
CUresult context_create(CUdevice dev, unsigned int flags, CUcontext *context);
CUresult context_destroy(CUcontext context);

// Fills in OBJECT, a new green context of DEV. ROOT is the primary context of DEV.
void context_enter_green(struct object *object, CUdevice dev, const struct object *root);
// Ends the handles that CONTEXT owned and removes its memory from the address book, after the box
// has ended the context.
void context_gone(CUcontext context);
// Number of contexts that have ended so far.
extern _Atomic uint64_t contexts_ended;

// Returns true if a context of SESSION, or code in it, may end after the call has returned, by the
// request OP (enum cuda_op) that is not awaited: the GPUs are idle, and no result or error of their
// work is still to come.
bool context_part_ends_later(struct box_session *session, uint16_t op);

// Returns true if the box could answer: neither the context nor its session has failed.
bool context_is_sound(const struct object *context);
// Finds the named context, or for NULL the current one.
CUresult context_named_or_current(CUcontext context, struct object **object);
// Makes CALL with CONTEXT as the current one. NULL: the context that is current.
CUresult context_within(CUcontext context, CUresult (*call)(void));

#endif

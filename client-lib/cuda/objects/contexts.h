// SPDX-License-Identifier: BSD-3-Clause
// The contexts of the program.
#ifndef RGPU_CLIENT_CONTEXTS_H
#define RGPU_CLIENT_CONTEXTS_H

#include <stdbool.h>

#include "client-lib/cuda/objects/object.h"

// A device's primary context. primary_context returns its handle, active or not; primary_retain
// adds a reference, and primary_drop releases one, or with RESET all.
CUresult primary_context(CUdevice dev, CUcontext *context);
CUresult primary_retain(CUdevice dev, CUcontext *context);
CUresult primary_drop(CUdevice dev, bool reset);
CUresult primary_set_flags(CUdevice dev, unsigned int flags);
CUresult primary_state(CUdevice dev, unsigned int *flags, int *active);

// Creates a context of the program, which becomes current; ends one.
CUresult context_create(CUdevice dev, unsigned int flags, CUcontext *context);
CUresult context_destroy(CUcontext context);

// Enters a new context, which has DEV's primary one as ROOT and fewer multiprocessors.
void context_enter_green(struct object *object, CUdevice dev, const struct object *root);
// Forgets what a context owned, after the box has ended it with the context.
void context_gone(CUcontext context);

// Finds the named context, or for NULL the current one.
CUresult context_named_or_current(CUcontext context, struct object **object);
// Waits for all work of the context.
CUresult context_synchronize(CUcontext context);

#endif

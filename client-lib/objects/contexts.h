// SPDX-License-Identifier: BSD-3-Clause
// The contexts of the program.
#ifndef RGPU_CLIENT_CONTEXTS_H
#define RGPU_CLIENT_CONTEXTS_H

#include <stdbool.h>

#include "client-lib/objects/object.h"

// A device's primary context: its handle, whether it is active or not; a reference more, and one less or
// (RESET) none.
CUresult primary_context(CUdevice dev, CUcontext *context);
CUresult primary_retain(CUdevice dev, CUcontext *context);
CUresult primary_drop(CUdevice dev, bool reset);
CUresult primary_set_flags(CUdevice dev, unsigned int flags);
CUresult primary_state(CUdevice dev, unsigned int *flags, int *active);

// A context of the program's own, which becomes current; and its end.
CUresult context_create(CUdevice dev, unsigned int flags, CUcontext *context);
CUresult context_destroy(CUcontext context);

// A new context is DEV's primary one with fewer multiprocessors.
void context_enter_green(struct object *object, CUdevice dev, const struct object *root);
// What a context owned has gone with it on the box.
void context_gone(CUcontext context);

// The context that was named, or for NULL the current one.
CUresult context_named_or_current(CUcontext context, struct object **object);
// Waits for all its work.
CUresult context_synchronize(CUcontext context);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Counts memory against the budget that is no allocation of the client, such as code, stacks and
// heaps. Thread-safe.
#ifndef RGPU_WORKER_CHARGE_H
#define RGPU_WORKER_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// Returns true if the session has a budget on DEVICE.
bool charges_apply(int device);
// Sets PART of OWNER's charge on DEVICE to SIZE bytes. Returns false, and changes nothing, if that
// exceeds the budget. The charge ends with charge_drop() or with CONTEXT, which may be NULL.
bool charge_set(const void *owner, int part, CUcontext context, int device, uint64_t size);
void charge_drop(const void *owner);
// Makes END the owner of all charges of an ending CONTEXT. END is any pointer that identifies this
// end.
void charges_leave_context(CUcontext context, const void *end);
void charge_rename(const void *owner, const void *name);
// Counts the stacks of a kernel whose threads have BYTES of local memory each. They count until a
// smaller limit is set or the context ends. Returns false if they exceed the budget.
bool charge_frames(CUcontext context, int device, uint32_t bytes);
// Parts of a context's charge, besides its limits. PART_GRAPHS and PART_STREAMS never decrease,
// because the driver keeps that memory until the context ends.
enum { PART_SMALL_ARRAYS = -1, PART_GRAPHS = -2, PART_LIBRARIES = -3, PART_STREAMS = -4 };
// Increases PART of CONTEXT to BYTES, if it is less. Returns false if that exceeds the budget.
bool charge_at_least(CUcontext context, int part, int device, uint64_t bytes);
// Counts the memory for value VALUE of LIMIT. Returns false if it exceeds the budget.
// charge_limit_back() restores the charge BEFORE if the driver rejects the value.
bool charge_limit(CUcontext context, int device, CUlimit limit, size_t value, uint64_t *before);
void charge_limit_back(CUcontext context, int device, CUlimit limit, uint64_t before);
// Computes an upper bound of the memory of IMAGE (SIZE bytes). Returns an error if it cannot be
// read.
struct image_memory;
CUresult charge_read_image(const void *image, uint64_t size, int device, struct image_memory *out);
// Charges OWNER for variables and code of a module. Returns OUT_OF_MEMORY if they exceed the
// budget; the caller then calls charge_drop().
CUresult charge_module(const void *image, uint64_t size, const void *owner, CUcontext context,
                       int device);

#endif

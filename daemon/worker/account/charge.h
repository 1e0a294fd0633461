// SPDX-License-Identifier: BSD-3-Clause
// Counts memory against a budget that is no allocation of the client (charge.c). Thread-safe.
#ifndef RGPU_WORKER_CHARGE_H
#define RGPU_WORKER_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// Returns true if the session has a budget on DEVICE, so that memory counts.
bool charges_apply(int device);
// Sets PART of OWNER's cost on DEVICE to SIZE bytes. Returns false, with nothing changed, if the
// budget does not allow it. The charge ends with its owner or with CONTEXT (NULL: only with its
// owner).
bool charge_set(const void *owner, int part, CUcontext context, int device, uint64_t size);
void charge_drop(const void *owner);
// Moves the charges of CONTEXT to END, which stands for the end of the context.
void charges_leave_context(CUcontext context, const void *end);
void charge_rename(const void *owner, const void *name);
// Counts the stacks that the driver makes for a kernel whose threads have BYTES of local memory
// each. They count until a smaller limit is set, or the context ends. Returns false if they exceed
// the budget.
bool charge_frames(CUcontext context, int device, uint32_t bytes);
// Parts of a context's cost beside its limits. PART_GRAPHS and PART_STREAMS stay at the most that
// they have been, as the driver keeps that memory until the context ends.
enum { PART_SMALL_ARRAYS = -1, PART_GRAPHS = -2, PART_LIBRARIES = -3, PART_STREAMS = -4 };
// Counts BYTES as PART of CONTEXT, unless as many count there already. Returns false if they exceed
// the budget.
bool charge_at_least(CUcontext context, int part, int device, uint64_t bytes);
// Counts the driver's memory for a LIMIT of CONTEXT of VALUE. Returns false if it exceeds the
// budget. charge_limit_back() restores the count BEFORE after the driver has refused the limit.
bool charge_limit(CUcontext context, int device, CUlimit limit, size_t value, uint64_t *before);
void charge_limit_back(CUcontext context, int device, CUlimit limit, uint64_t before);
// Bounds what IMAGE, of SIZE bytes, takes on DEVICE. Returns an error if it cannot be read.
struct image_memory;
CUresult charge_read_image(const void *image, uint64_t size, int device, struct image_memory *out);
// Counts the variables and the code of a module of IMAGE as OWNER's. Returns OUT_OF_MEMORY if they
// exceed the budget; the caller then drops OWNER.
CUresult charge_module(const void *image, uint64_t size, const void *owner, CUcontext context,
                       int device);

#endif

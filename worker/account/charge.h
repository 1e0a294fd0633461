// SPDX-License-Identifier: BSD-3-Clause
// What counts against a budget beside allocations (charge.c). Any thread may call.
#ifndef RGPU_WORKER_CHARGE_H
#define RGPU_WORKER_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

void charges_prepare(void); // when the driver is loaded
// Whether anything is to be counted on DEVICE: the session has a budget.
bool charges_apply(int device);
// Has PART of what OWNER costs on DEVICE be SIZE bytes from now on. False, with nothing changed: the
// budget does not allow it. It ends with its owner or with CONTEXT (NULL: only with its owner).
bool charge_set(const void *owner, int part, CUcontext context, int device, uint64_t size);
void charge_drop(const void *owner);
// OWNER is gone, and the memory of its one charge is free behind PASSAGE, which is taken; NULL: at once.
struct passage;
void charge_drop_behind(const void *owner, struct passage *passage);
bool charges_pass(void);   // returns true if the GPU has still to pass some
bool charges_settle(void); // drops those that it has passed; false: none
// What CONTEXT has and is belongs to END from now on, which stands for the end of the context.
void charges_leave_context(CUcontext context, const void *end);
void charge_rename(const void *owner, const void *name);
// Counts the stacks that the driver makes for a kernel whose threads have BYTES of local memory each; they
// stay until a smaller limit is set, or the context goes. False: over the budget.
bool charge_frames(CUcontext context, int device, uint32_t bytes);
// Counts BYTES that the driver has for nodes of graphs in CONTEXT, unless as many count there; they stay until it ends.
bool charge_graphs(CUcontext context, int device, uint64_t bytes);
// Counts what the driver takes when LIMIT of CONTEXT is VALUE. False: over the budget. And counts again what
// was counted BEFORE, where the driver has refused it.
bool charge_limit(CUcontext context, int device, CUlimit limit, size_t value, uint64_t *before);
void charge_limit_back(CUcontext context, int device, CUlimit limit, uint64_t before);
// Counts the variables of LIBRARY once more for every context but the first that uses it on a device.
bool charge_library_use(const void *library, CUcontext context, int device);
// Counts the variables of IMAGE, of SIZE bytes, as OWNER's. OUT_OF_MEMORY: over the budget.
CUresult charge_variables(const void *image, uint64_t size, const void *owner, CUcontext context,
                          int device);

#endif

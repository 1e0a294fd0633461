// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory of libraries in the contexts that use them. Thread-safe.
#ifndef RGPU_WORKER_LIBRARY_COST_H
#define RGPU_WORKER_LIBRARY_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct library_cost; // cost of one library

#define LIBRARY_NO_KERNEL ((CUkernel)0)    // variables, and code that the kernels share
#define LIBRARY_ALL_KERNELS ((CUkernel)-1) // all kernels

void library_costs_prepare(void); // must be called before requests are served
// Computes the cost of a library from its image. *COST is NULL if the session has no budget.
// Returns an error if the image cannot be read.
CUresult library_cost_new(const void *image, uint64_t size, struct library_cost **cost);
// Assigns the cost to LIBRARY after its creation, until library_cost_end().
void library_cost_is(struct library_cost *cost, CUlibrary library);
void library_cost_end(CUlibrary library);
void library_cost_free(struct library_cost *cost); // after a failed creation; NULL does nothing
// Counts LIBRARY and KERNEL before they are loaded into CONTEXT. Returns false if they exceed the
// budget.
bool library_cost_use(CUlibrary library, CUkernel kernel, CUcontext context, int device);

#endif

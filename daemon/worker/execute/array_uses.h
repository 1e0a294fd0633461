// SPDX-License-Identifier: BSD-3-Clause
// The memory that was mapped into each array: only the driver knows which piece of it the array
// still has, so an array keeps it until it ends. Callers hold one lock.
#ifndef RGPU_WORKER_ARRAY_USES_H
#define RGPU_WORKER_ARRAY_USES_H

// 1: it is new; 0: it was known; -1: no memory for it.
int array_use_add(const void *array, void *memory);
// Takes out one memory of an array; NULL: it has no more.
void *array_use_take(const void *array);

#endif

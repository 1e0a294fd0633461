// SPDX-License-Identifier: BSD-3-Clause
// Memory mapped into arrays. Only the driver knows which parts an array still uses, so an array
// keeps all of it until it ends. The caller locks.
#ifndef RGPU_WORKER_ARRAY_USES_H
#define RGPU_WORKER_ARRAY_USES_H

// Returns 1 if the use is new, 0 if it was known, -1 if memory is exhausted.
int array_use_add(const void *array, void *memory);
// Removes and returns one memory of an array; NULL if it has none.
void *array_use_take(const void *array);

#endif

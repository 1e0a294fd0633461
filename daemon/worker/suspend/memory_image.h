// SPDX-License-Identifier: BSD-3-Clause
// Image of the worker's movable memory in host memory, while its lease is suspended. Copies run at
// the speed of the bus. The driver's checkpoint then only handles the rest, above all the contexts.
// Called by the thread that quiesces the worker (quiesce.c), while no request is executed.
#ifndef RGPU_WORKER_MEMORY_IMAGE_H
#define RGPU_WORKER_MEMORY_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// Copies all movable memory to the host and gives the GPU's memory back. The GPU must be idle.
// Sets *BYTES to their number. Returns false if nothing has changed, because the driver has to move
// the memory.
bool memory_image_save(uint64_t *bytes);
// Returns the memory to the GPU. After a failure the image is as before, and another attempt may
// succeed if the result is CUDA_ERROR_OUT_OF_MEMORY.
CUresult memory_image_restore(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Image of the worker's movable memory in host memory, while its lease is suspended. Copies run at
// the speed of the bus. The driver's checkpoint then only handles the rest, above all the contexts.
// Called by the thread that quiesces the worker (quiesce.c), while no request is executed.
#ifndef RGPU_WORKER_MEMORY_IMAGE_H
#define RGPU_WORKER_MEMORY_IMAGE_H

#include <stdint.h>

#include "worker_driver.h"

// Copies all movable memory to the host and gives the GPU's memory back. The GPU must be idle.
// Returns the bytes; 0: nothing has changed, and the driver has to move the memory.
uint64_t memory_image_save(void);
// Returns the memory to the GPU. After a failure the image is as before, and another attempt may
// succeed if the result is CUDA_ERROR_OUT_OF_MEMORY.
CUresult memory_image_restore(void);

#endif

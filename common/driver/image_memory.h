// SPDX-License-Identifier: BSD-3-Clause
// Bounds the device memory that the variables and the code of an image take. Keeps no state; any
// thread may call.
#ifndef RGPU_COMMON_DRIVER_IMAGE_MEMORY_H
#define RGPU_COMMON_DRIVER_IMAGE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// Bytes on a device. Drivers load kernels one by one, when they are first used.
struct image_memory {
    uint64_t variables;
    uint64_t code;   // with constants, if all of it is loaded
    uint64_t common; // of the code, what belongs to no single kernel
    uint64_t kernel; // of the code, the largest kernel
};

// Bounds the memory on a device of architecture ARCH (90). A fat binary counts with the most of
// what such a device can load of it; texts have no code if there is a binary for just that
// architecture. Returns 0, or the error of image_parse() or fatbin_read().
int image_memory_find(const void *data, size_t size, unsigned int arch, struct image_memory *out)
    __attribute__((warn_unused_result));
// Returns the bytes of the code if only KERNELS of its kernels are loaded.
uint64_t image_memory_of_kernels(const struct image_memory *memory, uint64_t kernels);

#endif

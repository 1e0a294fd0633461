// SPDX-License-Identifier: BSD-3-Clause
// Computes an upper bound of the device memory that an image's variables and code take.
// Thread-safe.
#ifndef RGPU_COMMON_DRIVER_IMAGE_MEMORY_H
#define RGPU_COMMON_DRIVER_IMAGE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// Bytes of device memory. Drivers load kernels one by one, at their first use.
struct image_memory {
    uint64_t variables;
    uint64_t code;   // all code, with constants
    uint64_t common; // part of `code` that no single kernel owns
    uint64_t kernel; // part of `code` that the largest kernel owns
};

// Computes the bound for a device of architecture ARCH (such as 90): the maximum over the entries
// that the device can load. The code of PTX is not counted if the image has machine code for
// exactly this architecture. Returns 0, or an error of image_parse() or fatbin_read().
int image_memory_find(const void *data, size_t size, unsigned int arch, struct image_memory *out)
    __attribute__((warn_unused_result));
// Returns the bytes of code if only KERNELS kernels are loaded.
uint64_t image_memory_of_kernels(const struct image_memory *memory, uint64_t kernels);

#endif

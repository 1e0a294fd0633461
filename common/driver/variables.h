// SPDX-License-Identifier: BSD-3-Clause
// How much device memory the variables of an image take. Keeps no state; any thread may call.
#ifndef RGPU_COMMON_DRIVER_VARIABLES_H
#define RGPU_COMMON_DRIVER_VARIABLES_H

#include <stddef.h>
#include <stdint.h>

// Bytes on a device of architecture ARCH (90); of a fat binary, those of the entry with the most among
// the entries that such a device can load. 0 and *BYTES, or as image_parse() and fatbin_read().
int image_variable_bytes(const void *data, size_t size, unsigned int arch, uint64_t *bytes)
    __attribute__((warn_unused_result));

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Cache of the attributes of functions and kernels, since CUDA's runtime queries all sixteen of a
// kernel at a time. Entries are valid until some attribute of any function is set.
#ifndef RGPU_CLIENT_KNOWN_ATTRIBUTES_H
#define RGPU_CLIENT_KNOWN_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"
#include "proto/cuda_abi.h"

struct known_attributes;

// Finds an attribute of the function, or of the kernel on DEVICE (0 for functions). False: the box
// must be queried; *ASKED then goes to attribute_learn.
bool attribute_known(struct object *function, CUdevice device, CUfunction_attribute name,
                     int *value, uint64_t *asked);
// Keeps the box's answer, unless some attribute was set meanwhile.
void attribute_learn(struct object *function, CUdevice device, CUfunction_attribute name, int value,
                     uint64_t asked);
// Makes all entries invalid. Called when an attribute is or was set.
void attributes_forget(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Attributes of functions and kernels that a box has told once, so that it is not asked again: CUDA's runtime asks for all
// sixteen of a kernel at a time. They hold until some attribute of any function is set.
#ifndef RGPU_CLIENT_KNOWN_ATTRIBUTES_H
#define RGPU_CLIENT_KNOWN_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/objects/object.h"
#include "proto/cuda_abi.h"

struct known_attributes;

// What is known of the function, or the kernel on DEVICE (0 for functions). False: to be asked, with *ASKED to be given back.
bool attribute_known(struct object *function, CUdevice device, CUfunction_attribute name,
                     int *value, uint64_t *asked);
// Keeps what the box has said, unless something was set meanwhile.
void attribute_learn(struct object *function, CUdevice device, CUfunction_attribute name, int value,
                     uint64_t asked);
// Something is set, or was: what is known does not hold any more.
void attributes_forget(void);

#endif

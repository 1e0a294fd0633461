// SPDX-License-Identifier: BSD-3-Clause
// A cache of the attributes of functions and kernels, because the CUDA runtime queries all sixteen
// of a kernel one after another. Setting an attribute of any function empties the cache.
// Thread-safe.
#ifndef RGPU_CLIENT_KNOWN_ATTRIBUTES_H
#define RGPU_CLIENT_KNOWN_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"
#include "proto/cuda_abi.h"

struct known_attributes; // entries of one function or kernel; object.h

// Finds the attribute NAME of a function, or of a kernel on DEVICE (0 for functions). Returns false
// if the caller must query the box; then *ASKED is the state of the cache for attribute_learn.
bool attribute_known(struct object *function, CUdevice device, CUfunction_attribute name,
                     int *value, uint64_t *asked);
// Stores the box's answer, unless an attribute was set since attribute_known set ASKED.
void attribute_learn(struct object *function, CUdevice device, CUfunction_attribute name, int value,
                     uint64_t asked);
// Makes all entries invalid. Called before and after an attribute is set.
void attributes_forget(void);

#endif

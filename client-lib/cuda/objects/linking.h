// SPDX-License-Identifier: BSD-3-Clause
// The driver's linker, which runs on the box: cuLinkCreate, cuLinkAddData, cuLinkComplete and
// cuLinkDestroy.
#ifndef RGPU_CLIENT_LINKING_H
#define RGPU_CLIENT_LINKING_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// Creates a linker. The log buffers in OPTIONS must stay valid until linker_destroy.
CUresult linker_create(unsigned int count, CUjit_option *options, void **values,
                       CUlinkState *state);
CUresult linker_add(CUlinkState state, CUjitInputType type, const void *data, size_t size,
                    unsigned int count, CUjit_option *options, void **values);
// Links. The linker owns *IMAGE (*SIZE bytes), which is valid until the next linker_complete or
// linker_destroy.
CUresult linker_complete(CUlinkState state, void **image, size_t *size);
CUresult linker_destroy(CUlinkState state);

#endif

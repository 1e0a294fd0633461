// SPDX-License-Identifier: BSD-3-Clause
// Advice on managed memory, and moving it ahead of use. Where it is moved to is acted on; advice is kept to be told.
#ifndef RGPU_CLIENT_MANAGED_ADVICE_H
#define RGPU_CLIENT_MANAGED_ADVICE_H

#include <stddef.h>

#include "proto/cuda_abi.h"

CUresult managed_advise(CUdeviceptr dptr, size_t count, CUmem_advise advise,
                        CUmemLocation location);
// For a stream that has been found to be one.
CUresult managed_prefetch(CUdeviceptr dptr, size_t count, CUmemLocation location);
// Nobody wants the contents any more.
CUresult managed_discard(CUdeviceptr dptr, size_t count);
CUresult managed_ask(void *data, size_t data_size, CUmem_range_attribute attribute,
                     CUdeviceptr dptr, size_t count);
void managed_advice_forget(CUdeviceptr dptr, size_t count);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Implements advice on managed memory, and prefetching. Prefetch is executed; advice is only stored
// for queries.
#ifndef RGPU_CLIENT_MANAGED_ADVICE_H
#define RGPU_CLIENT_MANAGED_ADVICE_H

#include <stddef.h>

#include "proto/cuda_abi.h"

CUresult managed_advise(CUdeviceptr dptr, size_t count, CUmem_advise advise,
                        CUmemLocation location);
// Prefetches the range to LOCATION. The caller has validated the stream.
CUresult managed_prefetch(CUdeviceptr dptr, size_t count, CUmemLocation location);
// Notes that the contents of the range are no longer needed.
CUresult managed_discard(CUdeviceptr dptr, size_t count);
CUresult managed_ask(void *data, size_t data_size, CUmem_range_attribute attribute,
                     CUdeviceptr dptr, size_t count);
void managed_advice_forget(CUdeviceptr dptr, size_t count);

#endif

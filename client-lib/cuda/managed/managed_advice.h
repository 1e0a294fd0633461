// SPDX-License-Identifier: BSD-3-Clause
// Advice on managed memory, and prefetching. A prefetch is executed; advice is only stored for
// queries. Ranges are COUNT bytes from DPTR on. Thread-safe.
#ifndef RGPU_CLIENT_MANAGED_ADVICE_H
#define RGPU_CLIENT_MANAGED_ADVICE_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// Stores the program's advice, as cuMemAdvise does.
CUresult managed_advise(CUdeviceptr dptr, size_t count, CUmem_advise advise,
                        CUmemLocation location);
// Prefetches the range to LOCATION. The caller has validated the stream.
CUresult managed_prefetch(CUdeviceptr dptr, size_t count, CUmemLocation location);
// Notes that the contents of the range are no longer needed.
CUresult managed_discard(CUdeviceptr dptr, size_t count);
// Answers a query of one attribute of the range into DATA, a buffer of DATA_SIZE bytes, as
// cuMemRangeGetAttribute does.
CUresult managed_ask(void *data, size_t data_size, CUmem_range_attribute attribute,
                     CUdeviceptr dptr, size_t count);
// Removes all advice on the range. Called when the memory is freed.
void managed_advice_forget(CUdeviceptr dptr, size_t count);

#endif

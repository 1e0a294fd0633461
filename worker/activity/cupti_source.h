// SPDX-License-Identifier: BSD-3-Clause
// The vendor's own means of noting what the GPU does, CUPTI's activity records. The library is loaded when the first
// client asks, from the place that `cupti` of rgpud.conf names, from the driver's library where that has the
// functions itself (the software GPU's), or by its usual names.
#ifndef RGPU_WORKER_CUPTI_SOURCE_H
#define RGPU_WORKER_CUPTI_SOURCE_H

#include "proto/cuda_abi.h"

// From now on records come into the store. NOT_SUPPORTED: there is no such library, or it refuses; the log says why.
CUresult cupti_source_start(void);
void cupti_source_stop(void);
// Records of all work that is complete are in the store when this returns.
void cupti_source_flush(void);
// The number that records have for STREAM of the current context; 0: not known.
uint32_t cupti_source_stream(CUstream stream);
uint32_t cupti_source_context(CUcontext context);

#endif

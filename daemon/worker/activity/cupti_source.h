// SPDX-License-Identifier: BSD-3-Clause
// Records GPU activity with the vendor's library CUPTI. The library is loaded at the first client's
// request: from `cupti` of rgpud.conf, from the driver's library if that has the functions itself
// (the software GPU's), or by its default names.
#ifndef RGPU_WORKER_CUPTI_SOURCE_H
#define RGPU_WORKER_CUPTI_SOURCE_H

#include "proto/cuda_abi.h"

// Starts recording into the store. Returns NOT_SUPPORTED if there is no such library, or it
// refuses; the reason is logged.
CUresult cupti_source_start(void);
void cupti_source_stop(void);
// Returns when the records of all complete work are in the store.
void cupti_source_flush(void);
// Returns the records' number of STREAM of the current context; 0: not known.
uint32_t cupti_source_stream(CUstream stream);
uint32_t cupti_source_context(CUcontext context);

#endif

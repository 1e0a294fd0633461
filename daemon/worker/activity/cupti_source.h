// SPDX-License-Identifier: BSD-3-Clause
// Records GPU activity with CUPTI. The library is loaded when a client first requests activity: the
// setting `cupti` of rgpud.conf, the driver library if it has CUPTI's functions (software GPU), or
// CUPTI's default names.
#ifndef RGPU_WORKER_CUPTI_SOURCE_H
#define RGPU_WORKER_CUPTI_SOURCE_H

#include "proto/cuda_abi.h"

// Starts recording into the store. Returns NOT_SUPPORTED, and logs the reason, if there is no
// library or it fails.
CUresult cupti_source_start(void);
void cupti_source_stop(void);
// Waits until the records of all completed work are in the store.
void cupti_source_flush(void);
// Returns the number by which records name STREAM of the current context; 0: unknown.
uint32_t cupti_source_stream(CUstream stream);
uint32_t cupti_source_context(CUcontext context);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The functions of the CUDA driver and of librgpu that this library calls. Every program of a job
// loads this library, and few of them use a GPU. So it is linked with neither library, and looks
// their functions up when the first communicator is made.
#ifndef RGPU_NCCL_LOADED_CALLS_H
#define RGPU_NCCL_LOADED_CALLS_H

#include "proto/cuda_abi.h"
#include "proto/site_nccl_table.h"
#include "client-lib/putnotify/rgpu.h"

#define NCCL_DRIVER_CALLS(call) \
    call(cuGetErrorName, (CUresult, const char **)) call(cuCtxGetCurrent, (CUcontext *)) call( \
        cuCtxPushCurrent_v2, (CUcontext)) call(cuCtxPopCurrent_v2, \
                                               (CUcontext *)) call(cuCtxGetDevice, (CUdevice *)) \
        call(cuInit, (unsigned int)) call(cuDeviceGetCount, (int *)) call( \
            cuDevicePrimaryCtxRetain, \
            (CUcontext *, CUdevice)) call(cuDevicePrimaryCtxRelease_v2, \
                                          (CUdevice)) call(cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
            call(cuMemFree_v2, (CUdeviceptr)) call(cuMemcpyHtoD_v2, \
                                                   (CUdeviceptr, const void *, size_t)) \
                call(cuMemsetD32Async, (CUdeviceptr, unsigned int, size_t, CUstream)) call( \
                    cuMemcpyDtoDAsync_v2, \
                    (CUdeviceptr, CUdeviceptr, size_t, \
                     CUstream)) call(cuModuleLoadData, (CUmodule *, const void *)) \
                    call(cuModuleGetFunction, \
                         (CUfunction *, CUmodule, const char *)) call(cuModuleUnload, (CUmodule)) \
                        call(cuLaunchKernel, \
                             (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, \
                              unsigned int, unsigned int, \
                              unsigned int, CUstream, \
                              void **, void **)) call(cuStreamCreate, (CUstream *, unsigned int)) \
                            call(cuStreamDestroy_v2, (CUstream)) \
                                call(cuStreamWaitEvent, (CUstream, CUevent, unsigned int)) \
                                    call(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus *)) \
                                        call(cuStreamSynchronize, (CUstream)) \
                                            call(cuEventCreate, (CUevent *, unsigned int)) \
                                                call(cuEventQuery, (CUevent)) \
                                                    call(cuEventRecord, (CUevent, CUstream)) \
                                                        call(cuEventDestroy_v2, (CUevent))

#define NCCL_TEAM_CALLS(call) \
    call(rgpu_rendezvous_open, enum rgpu_result, (struct rgpu_rendezvous *)) \
        call(rgpu_team_rendezvous_at, enum rgpu_result, \
             (struct rgpu_team **, const struct rgpu_rendezvous *, int, int, const CUcontext *, \
              int, int)) call(rgpu_team_exchange, enum rgpu_result, \
                              (struct rgpu_team *, const void *, void *, size_t)) \
            call(rgpu_team_leave, void, (struct rgpu_team *)) \
                call(rgpu_team_destroy, void, (struct rgpu_team **)) \
                    call(rgpu_team_check, enum rgpu_result, (struct rgpu_team *)) \
                        call(rgpu_team_abort, void, (struct rgpu_team *)) \
                            call(rgpu_window_register, enum rgpu_result, \
                                 (struct rgpu_team *, const CUdeviceptr *, const size_t *, int, \
                                  struct rgpu_window **)) \
                                call(rgpu_put_signal_async, enum rgpu_result, \
                                     (struct rgpu_window *, int, int, size_t, CUdeviceptr, size_t, \
                                      int, CUstream)) \
                                    call(rgpu_signal_wait_async, enum rgpu_result, \
                                         (struct rgpu_window *, int, int, int, int, CUstream)) \
                                        call(rgpu_error_text, const char *, (void))

#define NCCL_DRIVER_FIELD(name, parameters) CUresult(*name) parameters;
#define NCCL_TEAM_FIELD(name, type, parameters) type(*name) parameters;
// One function pointer for each call, valid after loaded_open has returned NULL.
struct loaded_calls {
    NCCL_DRIVER_CALLS(NCCL_DRIVER_FIELD)
    NCCL_TEAM_CALLS(NCCL_TEAM_FIELD)
    const struct site_nccl_table *site; // NULL: this driver is not rgpu's
};
extern struct loaded_calls loaded;

// Loads both libraries, once for the process, and fills in `loaded`. Returns NULL, or the reason
// why one of them cannot be used, valid until the process ends. Thread-safe.
const char *loaded_open(void);

#endif

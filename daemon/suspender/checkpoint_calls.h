// SPDX-License-Identifier: BSD-3-Clause
// The driver's checkpoint functions, which move the device memory of another process to the host
// and back.
#ifndef RGPU_SUSPENDER_CHECKPOINT_CALLS_H
#define RGPU_SUSPENDER_CHECKPOINT_CALLS_H

#include "proto/cuda_abi.h"

struct checkpoint_calls {
    CUresult (*init)(unsigned flags);
    CUresult (*error_name)(CUresult result, const char **name);
    CUresult (*device_count)(int *count);
    CUresult (*device)(CUdevice *device, int number);
    CUresult (*device_uuid)(CUuuid *uuid, CUdevice device);
    CUresult (*state)(int pid, CUprocessState *state);
    CUresult (*lock)(int pid, CUcheckpointLockArgs *args);
    CUresult (*checkpoint)(int pid, CUcheckpointCheckpointArgs *args);
    CUresult (*restore)(int pid, CUcheckpointRestoreArgs *args);
    CUresult (*unlock)(int pid, CUcheckpointUnlockArgs *args);
};
extern struct checkpoint_calls checkpoint;

// Loads and initializes the driver library PATH. Returns NULL, or the reason of a failure.
const char *checkpoint_load(const char *path);
const char *checkpoint_error(CUresult result);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Opens sessions to the boxes that the environment names.
#ifndef RGPU_CLIENT_OPENING_H
#define RGPU_CLIENT_OPENING_H

#include "client-lib/cuda/session/box_session.h"

// Opens all sessions and numbers their devices in one list. Returns CUDA_SUCCESS or the error for
// cuInit; on error the reason is on standard error and no session remains.
CUresult sessions_open(void);
// Finds a device of the lease or job by UUID, including devices hidden from the program. Opens a
// session to its box if needed. The program may use *DEVICE, which cuDeviceGetCount does not count.
// Returns CUDA_ERROR_INVALID_DEVICE if there is no such device or its box refuses the session,
// which is reported. One thread at a time.
CUresult sessions_reach(const CUuuid *uuid, CUdevice *device);

#endif

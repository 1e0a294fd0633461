// SPDX-License-Identifier: BSD-3-Clause
// Opens sessions to the boxes that the environment names.
#ifndef RGPU_CLIENT_OPENING_H
#define RGPU_CLIENT_OPENING_H

#include "client-lib/cuda/session/box_session.h"

// Opens all sessions and numbers their devices in one list. Returns CUDA_SUCCESS, or the result of
// cuInit after writing the reason to standard error and closing all sessions.
CUresult sessions_open(void);
// Finds a device of the lease or job by UUID, including devices hidden from the program. Opens a
// session to its box if there is none. The program may use *DEVICE although cuDeviceGetCount does
// not count it. Returns CUDA_ERROR_INVALID_DEVICE if there is no such device, or after reporting
// that its box refuses the session. Only one thread at a time may call.
CUresult sessions_reach(const CUuuid *uuid, CUdevice *device);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Opening sessions to the boxes that the environment names.
#ifndef RGPU_CLIENT_OPENING_H
#define RGPU_CLIENT_OPENING_H

#include "client-lib/session/box_session.h"

// Opens them all, numbering the devices in one list. CUDA_SUCCESS, or what cuInit is to return; the reason
// has been said on standard error, and no session is left.
CUresult sessions_open(void);
// A device of the lease, or of the job, by its UUID, also one that the program does not see: the session with its box is opened
// if there is none. The program may use it by *DEVICE, which cuDeviceGetCount does not count. INVALID_DEVICE: there is none, or
// its box does not open a session, which has been said. One thread at a time.
CUresult sessions_reach(const CUuuid *uuid, CUdevice *device);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The worker as a client of its GPU's MPS daemon, where the supervisor says that it is one.
#ifndef RGPU_WORKER_MPS_CLIENT_SETUP_H
#define RGPU_WORKER_MPS_CLIENT_SETUP_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Before the driver is loaded, which finds the daemon and its limits by the environment. -ENOMEM.
int mps_client_set_up(void) __attribute__((warn_unused_result));
// Whether contexts of the device are what the supervisor wants them to be.
bool mps_client_as_meant(CUdevice device);
// A request has failed with this: where that means the end of the context, the supervisor is told over
// CONTROL, which has then a moment to end the session with the reason, before a program sees an error that may not be
// its own.
void mps_client_note(int control, CUresult result);
// Before the process ends: returns when the GPU does nothing for it any more. Otherwise the supervisor ends the process, so that
// the other clients do not suffer.
void mps_client_finish(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Makes the worker a client of its GPU's MPS daemon, if the supervisor says so.
#ifndef RGPU_WORKER_MPS_CLIENT_SETUP_H
#define RGPU_WORKER_MPS_CLIENT_SETUP_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Sets the environment by which the driver finds the daemon and its limits. Call before the driver
// is loaded. Returns 0 or -ENOMEM.
int mps_client_set_up(void) __attribute__((warn_unused_result));
// Returns true if contexts of the device have the properties that the supervisor wants.
bool mps_client_as_meant(CUdevice device);
// Reports to the supervisor over CONTROL that a request has failed with RESULT if that means the
// end of the context. The supervisor then has a moment to end the session with the reason, before a
// program sees an error that may not be its own.
void mps_client_note(int control, CUresult result);
// Waits until the GPU does no more work for this process. Call before the process ends. Otherwise
// the supervisor ends the process, so that the other clients do not suffer.
void mps_client_finish(void);

#endif

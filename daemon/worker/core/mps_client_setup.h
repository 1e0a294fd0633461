// SPDX-License-Identifier: BSD-3-Clause
// Makes the worker a client of its GPU's MPS daemon, if SETUP says so.
#ifndef RGPU_WORKER_MPS_CLIENT_SETUP_H
#define RGPU_WORKER_MPS_CLIENT_SETUP_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Sets the environment variables for the MPS daemon and the limits. Must be called before the
// driver is loaded. Returns 0 or -ENOMEM.
int mps_client_set_up(void) __attribute__((warn_unused_result));
// Returns true if contexts of the device have the limits that SETUP demands.
bool mps_client_as_meant(CUdevice device);
// If RESULT means that the context is lost, reports it to the supervisor over CONTROL and waits a
// moment, so that the supervisor can end the session with the reason. The fault may be that of
// another client.
void mps_client_note(int control, CUresult result);
// Waits until the GPU has completed all work of this process. Must be called before the process
// exits; the supervisor kills a worker that does not, to protect the other clients.
void mps_client_finish(void);

#endif

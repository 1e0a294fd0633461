// SPDX-License-Identifier: BSD-3-Clause
// Keeps the library's state in this process: not initialised, ready, failed, or inherited by a
// fork.
#ifndef RGPU_CLIENT_PROCESS_H
#define RGPU_CLIENT_PROCESS_H

#include "client-lib/cuda/session/box_session.h"

// Returns CUDA_SUCCESS after cuInit has succeeded, else the error for a driver call.
CUresult process_ready(void);

// Opens the sessions on the first call, for cuInit. LISTENER receives the events that the sessions
// do not handle themselves.
CUresult process_start(const struct session_listener *listener);

// Calls sessions_reach if the process is ready. Thread-safe.
CUresult process_reach(const CUuuid *uuid, CUdevice *device);

#endif

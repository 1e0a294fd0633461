// SPDX-License-Identifier: BSD-3-Clause
// Keeps the library's state in this process: not initialised, ready, failed, or inherited by a
// fork.
#ifndef RGPU_CLIENT_PROCESS_H
#define RGPU_CLIENT_PROCESS_H

#include "client-lib/cuda/session/box_session.h"

// Returns CUDA_SUCCESS after cuInit has succeeded, else the error for a driver call.
CUresult process_ready(void);

// Opens the sessions, for cuInit, unless an earlier call has succeeded. LISTENER, which must stay
// valid, receives the events that the sessions do not handle themselves.
CUresult process_start(const struct session_listener *listener);

// Calls sessions_reach (opening.h) if the process is ready; else returns process_ready's error.
// Thread-safe.
CUresult process_reach(const CUuuid *uuid, CUdevice *device);

#endif

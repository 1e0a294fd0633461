// SPDX-License-Identifier: BSD-3-Clause
// The library's state in this process: not initialised, ready, failed, or inherited by a fork.
#ifndef RGPU_CLIENT_PROCESS_H
#define RGPU_CLIENT_PROCESS_H

#include "client-lib/session/box_session.h"

// CUDA_SUCCESS once cuInit has succeeded, else what a driver call is to return.
CUresult process_ready(void);

// Opens the sessions, the first time: what cuInit does. LISTENER hears of the events that are not the
// sessions' own.
CUresult process_start(const struct session_listener *listener);

// sessions_reach, after that. Any thread.
CUresult process_reach(const CUuuid *uuid, CUdevice *device);

#endif

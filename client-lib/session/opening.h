// SPDX-License-Identifier: BSD-3-Clause
// Opening sessions to the boxes that the environment names.
#ifndef RGPU_CLIENT_OPENING_H
#define RGPU_CLIENT_OPENING_H

#include "client-lib/session/box_session.h"

// Opens them all, numbering the devices in one list. CUDA_SUCCESS, or what cuInit is to return; the reason
// has been said on standard error, and no session is left.
CUresult sessions_open(void);

#endif

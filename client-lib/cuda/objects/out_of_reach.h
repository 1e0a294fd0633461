// SPDX-License-Identifier: BSD-3-Clause
// Messages to the user about page-locked memory that GPUs cannot access, for programs that need
// this access.
#ifndef RGPU_CLIENT_OUT_OF_REACH_H
#define RGPU_CLIENT_OUT_OF_REACH_H

#include "client-lib/cuda/session/box_session.h"

// The program's query for the GPU's address of such memory was refused.
void out_of_reach_refused(const struct box_session *session);
// A context has failed with RESULT, possibly because of such memory.
void out_of_reach_failed(const struct box_session *session, CUresult result);
// The box gets a copy of such memory, which is not enough for every program.
void out_of_reach_mirrored(const struct box_session *session);

#endif

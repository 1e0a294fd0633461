// SPDX-License-Identifier: BSD-3-Clause
// Messages to the user about page-locked memory that GPUs cannot access, for programs that need
// this access. Each message appears once. Thread-safe.
#ifndef RGPU_CLIENT_OUT_OF_REACH_H
#define RGPU_CLIENT_OUT_OF_REACH_H

#include "client-lib/cuda/session/box_session.h"

// Reports that the program's query of the device pointer of such memory was refused.
void out_of_reach_refused(const struct box_session *session);
// Reports that such memory may be the reason if a context has failed with RESULT.
void out_of_reach_failed(const struct box_session *session, CUresult result);
// Reports, if the program uses NCCL, that the box's mirror of such memory does not suffice for
// NCCL.
void out_of_reach_mirrored(const struct box_session *session);

#endif

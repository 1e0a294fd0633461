// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory of the program that GPUs do not reach: what users are told where a program wants it of them.
#ifndef RGPU_CLIENT_OUT_OF_REACH_H
#define RGPU_CLIENT_OUT_OF_REACH_H

#include "client-lib/session/box_session.h"

// The program asks for the GPU's address of such memory, and is refused.
void out_of_reach_refused(const struct box_session *session);
// A context has failed with RESULT, of which such memory may be the cause.
void out_of_reach_failed(const struct box_session *session, CUresult result);
// Such memory is made coherent (RGPU_MAPPED_HOST=mirror), which is not enough for every program.
void out_of_reach_mirrored(void);

#endif

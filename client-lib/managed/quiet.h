// SPDX-License-Identifier: BSD-3-Clause
// Whether GPUs have done all work that may touch managed memory. Any thread may call.
#ifndef RGPU_CLIENT_QUIET_H
#define RGPU_CLIENT_QUIET_H

#include <stdint.h>

#include "client-lib/session/box_session.h"

// Work goes to a context (a handle; 0: not known which).
void quiet_no_more(struct box_session *session, uint64_t context);
// Waits until nothing touches memory of CONTEXT any more: work of STREAM where only that does, else all work. Not for
// a function of the program for which a stream waits.
void quiet_await(struct box_session *session, uint64_t context, uint64_t stream);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Lets streams wait for events of other boxes. Any thread may call.
#ifndef RGPU_CLIENT_CROSSING_H
#define RGPU_CLIENT_CROSSING_H

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/box_session.h"

// Lets later work of STREAM, which belongs to the context WAITING, wait for the latest recording of
// EVENT, which belongs to another session. Returns without waiting.
CUresult crossing_wait(CUstream stream, const struct object *waiting, const struct object *event);
// Handles EVENT_REACHED: lets the stream that waits for the recording continue.
void crossing_reached(struct box_session *session, const struct wire_reached *reached);
// Fails the streams that wait for events of SESSION, which is lost.
void crossing_lost(struct box_session *session);

#endif

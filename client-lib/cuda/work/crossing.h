// SPDX-License-Identifier: BSD-3-Clause
// Streams that wait for events of other boxes.
#ifndef RGPU_CLIENT_CROSSING_H
#define RGPU_CLIENT_CROSSING_H

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/box_session.h"

// Lets STREAM of the context WAITING wait for the latest recording of EVENT, which belongs to
// another session. Returns at once.
CUresult crossing_wait(CUstream stream, const struct object *waiting, const struct object *event);
// EVENT_REACHED has arrived.
void crossing_reached(struct box_session *session, const struct wire_reached *reached);
// The session is lost, so streams that wait for its events never see them.
void crossing_lost(struct box_session *session);

#endif

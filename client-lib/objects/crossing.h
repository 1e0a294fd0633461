// SPDX-License-Identifier: BSD-3-Clause
// Streams that wait for events of other boxes.
#ifndef RGPU_CLIENT_CROSSING_H
#define RGPU_CLIENT_CROSSING_H

#include "client-lib/objects/object.h"
#include "client-lib/session/box_session.h"

// Has STREAM, whose context is WAITING, wait for what EVENT of another session stands for now. Returns
// at once.
CUresult crossing_wait(CUstream stream, const struct object *waiting, const struct object *event);
// EVENT_REACHED has come.
void crossing_reached(struct box_session *session, const struct wire_reached *reached);
// The session is lost: what waits for it will not see it come.
void crossing_lost(struct box_session *session);

#endif

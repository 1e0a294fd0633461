// SPDX-License-Identifier: BSD-3-Clause
// Reserves memory of the box for the images of suspended sessions.
#ifndef RGPU_DAEMON_IMAGE_ROOM_H
#define RGPU_DAEMON_IMAGE_ROOM_H

#include "daemon/rgpud/suspension/suspension.h"

// Reserves memory for the images of a suspension and replaces its earlier reservation. Returns
// -ENOSPC with the reason in TEXT.
int image_room_take(struct suspension *s, char *text, size_t room)
    __attribute__((warn_unused_result));

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The part of the box's memory that images of suspended sessions may take.
#ifndef RGPU_DAEMON_IMAGE_ROOM_H
#define RGPU_DAEMON_IMAGE_ROOM_H

#include "daemon/suspension.h"

// Of what the others have left; the suspension has none before it. -ENOSPC with the reason in TEXT.
int image_room_take(struct suspension *s, char *text, size_t room)
    __attribute__((warn_unused_result));

#endif

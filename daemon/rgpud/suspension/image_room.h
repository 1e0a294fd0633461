// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_DAEMON_IMAGE_ROOM_H
#define RGPU_DAEMON_IMAGE_ROOM_H

#include "daemon/rgpud/suspension/suspension.h"

// Reserves host memory for the images of a suspension; replaces its earlier reservation. Returns 0,
// or -ENOSPC and the reason in TEXT.
int image_room_take(struct suspension *s, char *text, size_t room)
    __attribute__((warn_unused_result));

#endif

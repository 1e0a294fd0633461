// SPDX-License-Identifier: BSD-3-Clause
// The id of a meeting: the address of the process that made it, and a key. The program distributes
// it, or the processes look it up by a name (meeting_name.h).
#ifndef RGPU_TEAM_MEETING_ID_H
#define RGPU_TEAM_MEETING_ID_H

#include <stdint.h>

#include "common/net/control.h"
#include "common/security/sha256.h"
#include "client-lib/putnotify/rgpu.h"

enum { PLACE_KEY = 32 };

// The contents of an id.
struct meeting_place {
    char host[256]; // addresses with commas between them
    uint16_t port;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the host's kernel
    uint8_t key[PLACE_KEY];                 // processes that know it may join
};

// Makes a new id. This process listens there at *LISTENER, which the caller closes. INVALID.
enum rgpu_result meeting_id_make(struct rgpu_meeting *meeting, int *listener);
// INVALID: MEETING is no valid id.
enum rgpu_result meeting_id_read(const struct rgpu_meeting *meeting, struct meeting_place *place);
// Returns the listener of a meeting that rgpu_meeting_open made in this process. Only the first
// call for a meeting returns it, others -1. The caller closes it.
int meeting_id_claim(const struct meeting_place *place);

#endif

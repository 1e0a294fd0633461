// SPDX-License-Identifier: BSD-3-Clause
// The id of a meeting: where the process is that made it, and a key. The program passes it on, or it is found by a name
// (meeting_name.h).
#ifndef RGPU_TEAM_MEETING_ID_H
#define RGPU_TEAM_MEETING_ID_H

#include <stdint.h>

#include "common/control.h"
#include "common/sha256.h"
#include "team-lib/rgpu.h"

enum { PLACE_KEY = 32 };

// What an id says.
struct meeting_place {
    char host[256]; // addresses with commas between them
    uint16_t port;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the host's kernel
    uint8_t key[PLACE_KEY];                 // who knows it may come
};

// A new id. This process listens there at *LISTENER, which the caller closes. INVALID.
enum rgpu_result meeting_id_make(struct rgpu_meeting *meeting, int *listener);
// INVALID: it is none.
enum rgpu_result meeting_id_read(const struct rgpu_meeting *meeting, struct meeting_place *place);
// Where this process listens for those who have the id, if it was made by rgpu_meeting_open and nobody has asked before; else
// -1. The caller closes it.
int meeting_id_claim(const struct meeting_place *place);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The id of a rendezvous: the address of the process that made it, and a key. The program
// distributes it, or the processes look it up by a name (rendezvous_name.h).
#ifndef RGPU_TEAM_RENDEZVOUS_ID_H
#define RGPU_TEAM_RENDEZVOUS_ID_H

#include <stdint.h>

#include "common/net/control.h"
#include "common/security/sha256.h"
#include "client-lib/putnotify/rgpu.h"

enum { PLACE_KEY = 32 };

// The contents of an id.
struct rendezvous_place {
    char host[256]; // addresses with commas between them
    uint16_t port;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the host's kernel
    uint8_t key[PLACE_KEY];                 // processes that know it may join
};

// Makes a new id. This process listens there at *LISTENER, which the caller closes. INVALID.
enum rgpu_result rendezvous_id_make(struct rgpu_rendezvous *rendezvous, int *listener);
// INVALID: RENDEZVOUS is no valid id.
enum rgpu_result rendezvous_id_read(const struct rgpu_rendezvous *rendezvous,
                                    struct rendezvous_place *place);
// Returns the listener of a rendezvous that rgpu_rendezvous_open made in this process. Only the
// first call for a rendezvous returns it, others -1. The caller closes it.
int rendezvous_id_claim(const struct rendezvous_place *place);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The id of a rendezvous (struct rgpu_rendezvous): the address where the process that made it
// listens, and a key. The program distributes the id, or processes look it up by a name
// (rendezvous_name.h).
#ifndef RGPU_TEAM_RENDEZVOUS_ID_H
#define RGPU_TEAM_RENDEZVOUS_ID_H

#include <stdint.h>

#include "common/net/control.h"
#include "common/security/sha256.h"
#include "client-lib/putnotify/rgpu.h"

enum { PLACE_KEY = 32 };

// The decoded contents of an id.
struct rendezvous_place {
    char host[256]; // addresses of the host, with commas between them
    uint16_t port;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the host's kernel, to detect the same host
    uint8_t key[PLACE_KEY];                 // secret; a process that proves to know it may join
};

// Makes a new id, and listens on its port with *LISTENER, which the caller closes. INVALID: the
// host has no address, or the process cannot listen.
enum rgpu_result rendezvous_id_make(struct rgpu_rendezvous *rendezvous, int *listener);
// Decodes an id. INVALID: RENDEZVOUS is no valid id.
enum rgpu_result rendezvous_id_read(const struct rgpu_rendezvous *rendezvous,
                                    struct rendezvous_place *place);
// Returns the listener of a rendezvous that rgpu_rendezvous_open made in this process. Each
// listener is returned once, and the caller then closes it. Returns -1 for all other rendezvous and
// later calls.
int rendezvous_id_claim(const struct rendezvous_place *place);

#endif

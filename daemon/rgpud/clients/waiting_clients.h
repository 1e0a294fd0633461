// SPDX-License-Identifier: BSD-3-Clause
// Queue of clients that wait for a worker.
#ifndef RGPU_DAEMON_WAITING_CLIENTS_H
#define RGPU_DAEMON_WAITING_CLIENTS_H

#include "daemon/rgpud/box/client.h"

// Appends a client to the queue. The next review of the box serves it.
void waiting_join(struct client *client);
// Handles input of a queued client, which has closed or violates the protocol. Frees or refuses the
// client.
void waiting_watch(struct client *client);
// Sends the client its queue position, now and at intervals. May free the client.
void waiting_tell(struct client *client);
// Passes waiting clients to warm workers, and refuses those that have waited too long.
void waiting_serve(struct box *box);

// Returns the next waiting client after AFTER, oldest first; AFTER NULL: the first one. NULL at the
// end.
struct client *waiting_next(struct box *box, struct client *after);
unsigned waiting_count(struct box *box);
// Return the first device (NULL: unknown), the set of devices and the MPS limits of a waiting
// client.
const struct box_device *waiting_first_device(const struct client *client);
device_set waiting_device_set(const struct client *client); // 0: unknown
// zeros: none, or unknown
struct mps_part waiting_part(const struct client *client);

#endif

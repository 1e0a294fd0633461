// SPDX-License-Identifier: BSD-3-Clause
// Manages the queue of clients that wait for a worker, and hands them over.
#ifndef RGPU_DAEMON_WAITING_CLIENTS_H
#define RGPU_DAEMON_WAITING_CLIENTS_H

#include "daemon/rgpud/box/client.h"

// Adds a client to the end of the queue. The next review of the box serves it.
void waiting_join(struct client *client);
// Handles input from a queued client, which has left or has spoken out of turn. Frees or refuses
// it.
void waiting_watch(struct client *client);
// Sends the client its queue position, and repeats that at intervals. May free the client.
void waiting_tell(struct client *client);
// Gives warm workers to waiting clients, and refuses clients that wait in vain.
void waiting_serve(struct box *box);

// Iterates over the clients that wait for a worker, oldest first; NULL begins and ends.
struct client *waiting_next(struct box *box, struct client *after);
unsigned waiting_count(struct box *box);
// Return the first device, the devices and the limits of a waiting client. NULL: not known yet.
const struct box_device *waiting_first_device(const struct client *client);
device_set waiting_device_set(const struct client *client); // 0: not known yet
struct mps_part waiting_part(const struct client *client);  // zeros: not known yet

#endif

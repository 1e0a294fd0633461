// SPDX-License-Identifier: BSD-3-Clause
// The queue of clients that wait for a worker, and the hand-over to it.
#ifndef RGPU_DAEMON_WAITING_CLIENTS_H
#define RGPU_DAEMON_WAITING_CLIENTS_H

#include "daemon/client.h"

// At the end of the queue, to be looked at in the box's next review.
void waiting_join(struct client *client);
// It spoke, which it must not, or has left; it is freed or refused.
void waiting_watch(struct client *client);
// Tells it its place, now and after a while again; it may be freed.
void waiting_tell(struct client *client);
// Gives waiting clients the workers that are warm, refuses those that wait in vain.
void waiting_serve(struct box *box);

// Iterates over the clients that wait for a worker, oldest first; NULL begins and ends.
struct client *waiting_next(struct box *box, struct client *after);
unsigned waiting_count(struct box *box);
const struct box_device *waiting_first_device(const struct client *client);
device_set waiting_device_set(const struct client *client); // 0: not known yet
struct mps_part waiting_part(const struct client *client);  // likewise

#endif

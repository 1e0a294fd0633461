// A client from its connection to the hand-over of its socket to a worker.
#ifndef RGPU_DAEMON_CLIENT_H
#define RGPU_DAEMON_CLIENT_H

#include "daemon/box.h"

enum client_state {
    CLIENT_ARRIVED,  // its first byte is awaited, which shows whether it has a ticket
    CLIENT_PROVING,  // TLS is about to stand, by the secret of its ticket
    CLIENT_GREETING, // HELLO is awaited
    CLIENT_QUEUED,   // a worker is awaited; the client must be silent
    CLIENT_REFUSED,  // REFUSED is sent; what still comes is discarded
    CLIENT_GONE,     // handed over or closed; about to be freed
};

const char *client_state_name(enum client_state state);

// Takes over a fresh connection. Where too many are in the handshake, the oldest of them is closed.
void client_accept(struct box *box, int fd);
// Gives waiting clients the workers that are warm, refuses those that wait in vain.
void client_serve_queue(struct box *box);
// Iterates over the clients that wait for a worker, oldest first; NULL begins and ends.
struct client *client_next_queued(struct box *box, struct client *after);
unsigned client_count_queued(struct box *box);
const struct device *client_first_device(const struct client *client);
device_set client_device_set(const struct client *client); // 0: not known yet
void client_close_all(struct box *box);
void client_refuse_all(struct box *box, enum control_refusal code, const char *text);

#endif

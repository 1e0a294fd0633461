// SPDX-License-Identifier: BSD-3-Clause
// What clients have found out about the paths of their copies, kept for each host that they come from, GPU and transport,
// and given to the next session from there; and what workers have of copies to and from other boxes, kept for the address of each
// and given to every session that is linked with it. It is in memory and in the file `paths` of the state directory.
//
// What a client says of its own host nobody else gets, and a host has only so much room, so that a hostile one spoils
// nothing but its own copies. Of other boxes workers alone tell.
#ifndef RGPU_DAEMON_KEPT_PATHS_H
#define RGPU_DAEMON_KEPT_PATHS_H

#include <event2/buffer.h>
#include <jansson.h>

#include "daemon/worker_process.h"

int kept_paths_open(struct box *box) __attribute__((warn_unused_result));
// Writes what has not been written.
void kept_paths_close(struct box *box);

// What a worker says. -EPROTO: it does not serve.
int kept_paths_take(struct worker_process *worker, const struct control_paths *message);
// What it asks of another box. -errno: it cannot be answered.
int kept_paths_asked(struct worker_process *worker, const struct control_paths_ask *asked);
// For a session of a client at PEER: a section of its WELCOME in memory that is good until the next call.
void kept_paths_give(struct box *box, const char *peer, const struct session_grant *session,
                     struct control_grant *grant);
// Has SHOW called with an object for each row.
void kept_paths_show(const struct box *box, void (*show)(struct evbuffer *out, json_t *row),
                     struct evbuffer *out);

#endif

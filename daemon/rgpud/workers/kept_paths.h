// SPDX-License-Identifier: BSD-3-Clause
// Keeps measured times of copy paths. Clients' measurements are kept for each client host, GPU and
// transport; the next session from that host gets them. Workers' measurements of copies between
// boxes are kept for each address; every session that connects to that box gets them. The data is
// in memory and in the file `paths` of the state directory.
//
// Only sessions from the same host get a client's measurements, and the space of each host is
// limited. A hostile host therefore harms only its own copies. Only workers report measurements
// between boxes.
#ifndef RGPU_DAEMON_KEPT_PATHS_H
#define RGPU_DAEMON_KEPT_PATHS_H

#include <event2/buffer.h>
#include <jansson.h>

#include "daemon/rgpud/workers/worker_process.h"

// Loads the file. If the state directory is not writable, data stays in memory. Returns 0 or
// -ENOMEM.
int kept_paths_open(struct box *box) __attribute__((warn_unused_result));
// Writes unsaved changes and frees everything.
void kept_paths_close(struct box *box);

// Stores measurements from a worker. Returns -EPROTO if the worker has no session or the message is
// malformed.
int kept_paths_take(struct worker_process *worker, const struct control_paths *message);
// Answers a worker's query about another box. Returns -errno if no answer was sent.
int kept_paths_asked(struct worker_process *worker, const struct control_paths_ask *asked);
// Adds the known measurements to GRANT, for the WELCOME of a client at PEER. The memory is
// valid until the next call.
void kept_paths_give(struct box *box, const char *peer, const struct session_grant *session,
                     struct control_grant *grant);
// Calls SHOW with an object for each row.
void kept_paths_show(const struct box *box, void (*show)(struct evbuffer *out, json_t *row),
                     struct evbuffer *out);

#endif

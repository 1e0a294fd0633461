// SPDX-License-Identifier: BSD-3-Clause
// Connects workers of two boxes that serve the same client. One worker expects a connection (a
// call) and gets the addresses of its box. The other worker's supervisor connects and proves a
// token, which both workers have from their client. Each supervisor passes its end to its worker.
// Extra connections of a session, which the client itself opens, arrive in the same way.
#ifndef RGPU_DAEMON_BOX_CALLS_H
#define RGPU_DAEMON_BOX_CALLS_H

#include "daemon/rgpud/box/client.h"
#include "daemon/rgpud/workers/worker_process.h"

// Handle a worker's request to expect a call, or to make one. The worker gets the answer later.
// Return 0, or -errno if the worker violates the protocol.
int box_calls_expect(struct worker_process *worker, const struct control_peer_expect *expect)
    __attribute__((warn_unused_result));
int box_calls_make(struct worker_process *worker, const struct control_peer_call *call)
    __attribute__((warn_unused_result));
// As box_calls_make(), for a connection to a socket of a worker on this host.
int box_calls_reach(struct worker_process *worker, const struct control_peer_reach *wanted)
    __attribute__((warn_unused_result));
// Expects the extra connections that GRANT allows.
void box_calls_expect_extra(struct worker_process *worker, const struct control_grant *grant);
// Returns the resources of finished calls to their limits.
void box_calls_settle(struct box *box);

// Returns true if a worker expects a call.
bool box_calls_expected(const struct box *box);
// Finds the expected call with the TLS identity IDENTITY (common/net/expected_connection.h). Sets
// KEY to its secret and marks CLIENT as this call. Returns 0 or -ENOENT.
int box_calls_find(struct client *client, const void *identity, uint8_t key[TLS_SECRET_BYTES]);
// Passes the connection to the worker that expects it, and frees CLIENT.
void box_calls_take(struct client *client);

#endif

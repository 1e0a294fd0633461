// SPDX-License-Identifier: BSD-3-Clause
// Connects workers of two boxes that serve the same client. One worker expects a call and gets the
// addresses of its box. The supervisor of the other box calls for its worker and proves a token,
// which both workers have from their client. Each supervisor passes its end of the connection to
// its worker. The extra connections of a session, which the client opens itself, arrive
// in the same way.
#ifndef RGPU_DAEMON_BOX_CALLS_H
#define RGPU_DAEMON_BOX_CALLS_H

#include "daemon/rgpud/box/client.h"
#include "daemon/rgpud/workers/worker_process.h"

// Handle a worker that expects a call, or that wants one made. The worker gets the answer later.
// Return 0, or -errno if the worker breaks the protocol.
int box_calls_expect(struct worker_process *worker, const struct control_peer_expect *expect)
    __attribute__((warn_unused_result));
int box_calls_make(struct worker_process *worker, const struct control_peer_call *call)
    __attribute__((warn_unused_result));
// Does the same for a connection to the socket of a worker on this host.
int box_calls_reach(struct worker_process *worker, const struct control_peer_reach *wanted)
    __attribute__((warn_unused_result));
// Expects the further connections that GRANT allows a new session.
void box_calls_expect_extra(struct worker_process *worker, const struct control_grant *grant);
// Gives back what calls have taken that are over.
void box_calls_settle(struct box *box);

// Returns true if any worker expects a call.
bool box_calls_expected(const struct box *box);
// Finds the expected call for the name that a connecting peer proves
// (common/net/expected_connection.h). Stores the call's secret in KEY and the call's identity in
// CLIENT. Returns 0 or -ENOENT.
int box_calls_find(struct client *client, const void *identity, uint8_t key[TLS_SECRET_BYTES]);
// Passes the caller's connection to the worker after its greeting, and frees the client.
void box_calls_take(struct client *client);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Connections between the workers of two boxes, whose clients are one: a worker says that it expects a call and gets
// the addresses of this box; another box's supervisor calls on behalf of its worker, proves the token that the two got by
// way of their client, and each supervisor hands its end of the connection to its worker. Strands of a session, which its
// own client opens, come in the same way.
#ifndef RGPU_DAEMON_BOX_CALLS_H
#define RGPU_DAEMON_BOX_CALLS_H

#include "daemon/client.h"
#include "daemon/worker_process.h"

// A worker expects a call, or wants to make one. Answers the worker, in its time. -errno where it breaks the protocol.
int box_calls_expect(struct worker_process *worker, const struct control_peer_expect *expect)
    __attribute__((warn_unused_result));
int box_calls_make(struct worker_process *worker, const struct control_peer_call *call)
    __attribute__((warn_unused_result));
// The same for a connection to the socket of a worker of this host.
int box_calls_reach(struct worker_process *worker, const struct control_peer_reach *wanted)
    __attribute__((warn_unused_result));
// A session begins, with the strands that it has been granted.
void box_calls_expect_strands(struct worker_process *worker, const struct control_grant *grant);

// Whether anybody who connects may be such a caller.
bool box_calls_expected(const struct box *box);
// The secret of the call that a worker expects under the name that somebody proves (common/expected_connection.h), who
// stands for it from then on; -ENOENT: there is none.
int box_calls_find(struct client *client, const void *identity, uint8_t key[TLS_SECRET_BYTES]);
// The caller has said its greeting: its connection goes to the worker, and the client is freed.
void box_calls_take(struct client *client);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Sends JSON requests to the broker, signed with the shared secret, and checks that answers prove
// the same secret. If several brokers are set, it uses one until that one is away.
#ifndef RGPU_DAEMON_BROKER_CONNECTION_H
#define RGPU_DAEMON_BROKER_CONNECTION_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/rgpud/box/box.h"

struct broker_connection;

// Reports the result of one request. STATUS is 0 if there is no connection or no answer came in
// time. ANSWER is borrowed; it is NULL if the text is not JSON. If PROVEN is false, the answer may
// come from anybody.
typedef void broker_answered(void *argument, int status, bool proven, const json_t *answer);

// Checks the broker settings. Returns 0 or -EINVAL after logging.
int broker_connection_check(const struct box_settings *settings)
    __attribute__((warn_unused_result));
// Opens a connection for settings that were checked. Returns 0 or -errno after logging.
int broker_connection_open(struct box *box, broker_answered *answered, void *argument,
                           struct broker_connection **out) __attribute__((warn_unused_result));
void broker_connection_close(struct broker_connection **connection);

// Sets the broker's heartbeat. An answer may take this time plus a margin.
void broker_connection_expect(struct broker_connection *connection, unsigned heartbeat_ms);

// Sends PUT or POST to this box's resource, with SUFFIX added to its path. Returns -errno if
// nothing was sent.
int broker_connection_send(struct broker_connection *connection, const char *method,
                           const char *suffix, const json_t *body)
    __attribute__((warn_unused_result));

// Cancels the pending request; its callback is not called.
void broker_connection_drop(struct broker_connection *connection);

// Switches to the next broker, since a standby may have taken over.
void broker_connection_turn(struct broker_connection *connection);

// Returns HOST:PORT of the current broker.
const char *broker_connection_peer(const struct broker_connection *connection);

#endif

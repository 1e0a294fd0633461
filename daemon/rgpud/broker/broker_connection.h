// SPDX-License-Identifier: BSD-3-Clause
// Sends signed JSON requests to the broker and verifies the answers. With several brokers, uses one
// of them until it fails.
#ifndef RGPU_DAEMON_BROKER_CONNECTION_H
#define RGPU_DAEMON_BROKER_CONNECTION_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/rgpud/box/box.h"

struct broker_connection;

// Receives the result of a request. STATUS is the HTTP status; 0: no connection, or no answer in
// time. ANSWER is borrowed; NULL if it is not JSON. PROVEN false: the answer is not authenticated.
typedef void broker_answered(void *argument, int status, bool proven, const json_t *answer);

// Checks the broker settings. Returns 0 or -EINVAL after logging.
int broker_connection_check(const struct box_settings *settings)
    __attribute__((warn_unused_result));
// Opens a connection for settings that were checked. Returns 0 or -errno after logging.
int broker_connection_open(struct box *box, broker_answered *answered, void *argument,
                           struct broker_connection **out) __attribute__((warn_unused_result));
void broker_connection_close(struct broker_connection **connection);

// Sets the broker's heartbeat interval. A request times out after this time and a margin.
void broker_connection_expect(struct broker_connection *connection, unsigned heartbeat_ms);

// Sends PUT or POST to the path of this box, with SUFFIX appended. Returns 0, or -errno if nothing
// was sent.
int broker_connection_send(struct broker_connection *connection, const char *method,
                           const char *suffix, const json_t *body)
    __attribute__((warn_unused_result));

// Cancels the pending request; its callback is not called.
void broker_connection_drop(struct broker_connection *connection);

// Switches to the next broker, because another one may have taken over.
void broker_connection_turn(struct broker_connection *connection);

// Returns HOST:PORT of the broker in use.
const char *broker_connection_peer(const struct broker_connection *connection);

#endif

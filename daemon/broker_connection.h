// SPDX-License-Identifier: BSD-3-Clause
// The box's way to its broker: requests as JSON, signed with the secret that both have, and whether an answer proves
// to be the broker's. Where several brokers are named, one of them is asked until it is away.
#ifndef RGPU_DAEMON_BROKER_CONNECTION_H
#define RGPU_DAEMON_BROKER_CONNECTION_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/box.h"

struct broker_connection;

// Called once for each request that was sent. STATUS 0: there is no connection, or no answer came in time. The answer
// is borrowed, and NULL where it is no JSON; one that is not proven may be anybody's.
typedef void broker_answered(void *argument, int status, bool proven, const json_t *answer);

// -EINVAL after logging.
int broker_connection_check(const struct box_settings *settings)
    __attribute__((warn_unused_result));
// Of settings that were checked. -errno after logging.
int broker_connection_open(struct box *box, broker_answered *answered, void *argument,
                           struct broker_connection **out) __attribute__((warn_unused_result));
void broker_connection_close(struct broker_connection **connection);

// The broker answers within this time, beside a margin.
void broker_connection_expect(struct broker_connection *connection, unsigned heartbeat_ms);

// PUT or POST to this box's resource and what SUFFIX adds to its path. -errno: nothing was sent.
int broker_connection_send(struct broker_connection *connection, const char *method,
                           const char *suffix, const json_t *body)
    __attribute__((warn_unused_result));

// Takes a request back that is out; its answer is not told.
void broker_connection_drop(struct broker_connection *connection);

// Asks the next broker from now on: a standby may have taken over.
void broker_connection_turn(struct broker_connection *connection);

// HOST:PORT of the one that is asked.
const char *broker_connection_peer(const struct broker_connection *connection);

#endif

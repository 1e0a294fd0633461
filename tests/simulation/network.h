// SPDX-License-Identifier: BSD-3-Clause
// The simulated network between the broker and those who send it requests. It stands in for
// broker/http: connections, authentication and listeners. Messages take time, overtake those of
// other connections, and are lost while their link is cut.
#ifndef RGPU_TEST_NETWORK_H
#define RGPU_TEST_NETWORK_H

#include <jansson.h>

#include "broker/http/auth.h"
#include "tests/simulation/world.h"

struct link {
    char name[32];
    struct dice dice;
    int64_t least, most;      // delay of a message
    unsigned lost;            // permille of the messages
    bool cut_there, cut_back; // one of them: half-open
};

// The sender of requests.
struct caller {
    struct host *host;
    struct link *link;
    struct identity who;
};

struct connection;
// STATUS 0: no connection, or no answer in time. ANSWER is borrowed, and may be NULL.
typedef void network_answered(void *argument, int status, const json_t *answer);

// Sends a request; ANSWERED is called once unless the caller's process dies, or network_close().
struct connection *network_ask(struct caller *caller, const char *method, const char *target,
                               const json_t *body, int64_t timeout, network_answered *answered,
                               void *argument);
// The caller closes the connection, and gets no answer.
void network_close(struct connection *connection);

// The broker's process has died. Its kernel resets the connections if ALIVE.
void network_broker_died(bool alive);
// The host's process has died, and its kernel closes its connections.
void network_host_died(const struct host *host);

// Start of the broker that gave the answer at hand.
extern unsigned network_start;

#endif

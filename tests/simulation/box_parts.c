// SPDX-License-Identifier: BSD-3-Clause
// The parts of rgpud that the agent of a simulated box calls: its reports, and its connection to
// the broker (daemon/rgpud/broker/broker_connection.h).
#include <stdio.h>
#include <stdlib.h>

#include "daemon/rgpud/broker/broker_connection.h"
#include "daemon/rgpud/broker/broker_report.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "tests/simulation/simulated_box.h"

// ---- reports ----

void broker_report_check_addresses(const struct box *box)
{
    (void)box;
}

json_t *broker_report_box(const struct box *box, const char *instance)
{
    const struct simulated_box *self = box_with_name(box->name);
    json_t *gpus = json_array();

    for (unsigned i = 0; i < self->gpu_count; i++)
        json_array_append_new(
            gpus, json_pack("{s:s, s:i, s:s, s:i, s:I, s:b, s:I, s:s}", "uuid", self->gpus[i].uuid,
                            "index", (int)i, "model", "H200", "capability", 90, "memory",
                            (json_int_t)self->gpus[i].memory, "ready", 1, "context",
                            (json_int_t)1 << 29, "mode", self->gpus[i].mode));
    return json_pack("{s:s, s:s, s:s, s:I, s:o}", "instance", instance, "addresses",
                     self->addresses, "transports", "tcp", "clock_skew", (json_int_t)30, "gpus",
                     gpus);
}

json_t *broker_report_sessions(const struct box *box)
{
    json_t *list = json_array();
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        json_array_append_new(list, json_pack("{s:I, s:s, s:I}", "session",
                                              (json_int_t)worker->session.id, "lease",
                                              worker->session.grant.lease, "epoch",
                                              (json_int_t)worker->session.grant.epoch));
    return list;
}

json_t *broker_report_figures(const struct box *box)
{
    (void)box;
    return json_array();
}

json_t *gpu_time_report(struct box *box)
{
    (void)box;
    return json_array();
}

void gpu_time_reported(struct box *box)
{
    (void)box;
}

// ---- the connection ----

struct broker_connection {
    struct simulated_box *box;
    broker_answered *answered;
    void *argument;
    struct connection *pending;
    unsigned heartbeat_ms;
};

enum { MARGIN_MS = 15000 };

int broker_connection_open(struct box *box, broker_answered *answered, void *argument,
                           struct broker_connection **out)
{
    struct broker_connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        abort();
    *connection = (struct broker_connection){.box = box_with_name(box->name),
                                             .answered = answered,
                                             .argument = argument};
    *out = connection;
    return 0;
}

void broker_connection_close(struct broker_connection **connection)
{
    broker_connection_drop(*connection);
    free(*connection);
    *connection = NULL;
}

void broker_connection_expect(struct broker_connection *connection, unsigned heartbeat_ms)
{
    connection->heartbeat_ms = heartbeat_ms;
}

// An answer that another host gives in the broker's place has no proof.
static void answer_forged(struct broker_connection *connection)
{
    static const char *const codes[] = {"restarted", "unauthorized"};
    struct dice *dice = &connection->box->dice;
    bool refuses = dice_chance(dice, 700);
    json_t *answer = refuses ? json_pack("{s:{s:s, s:s}}", "error", "code",
                                         codes[dice_below(dice, 2)], "message", "no")
                             : json_pack("{s:[]}", "revoke");

    connection->answered(connection->argument, refuses ? 401 : 200, false, answer);
    json_decref(answer);
}

static void on_broker_answer(void *argument, int status, const json_t *answer)
{
    struct broker_connection *connection = argument;

    connection->pending = NULL;
    if (connection->box->forged)
        answer_forged(connection);
    else
        connection->answered(connection->argument, status, status != 0, answer);
}

int broker_connection_send(struct broker_connection *connection, const char *method,
                           const char *suffix, const json_t *body)
{
    char path[128];

    snprintf(path, sizeof(path), "/v1/boxes/%s%s", connection->box->host.name, suffix);
    connection->pending = network_ask(&connection->box->caller, method, path, body,
                                      (connection->heartbeat_ms + MARGIN_MS) * MS, on_broker_answer,
                                      connection);
    return 0;
}

void broker_connection_drop(struct broker_connection *connection)
{
    if (connection->pending)
        network_close(connection->pending);
    connection->pending = NULL;
}

void broker_connection_turn(struct broker_connection *connection)
{
    (void)connection;
}

const char *broker_connection_peer(const struct broker_connection *connection)
{
    (void)connection;
    return "broker:7310";
}

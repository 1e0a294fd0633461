// SPDX-License-Identifier: BSD-3-Clause
// The transport rdma. The worker creates its listener before a client connects, if the fabric is up
// by then.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "transport/rdma/rdma.h"
#include "transport/link/transport.h"

struct rdma_environment {
    struct rdma_options options;
    char devices[1024];
};

struct fabric_variable {
    const char *name;
    long max;
    long unset;
};
enum { GID_INDEX, MTU, SERVICE_LEVEL, TRAFFIC_CLASS, DEAD_TIME, VARIABLES };
static const struct fabric_variable variables[VARIABLES] = {
    [GID_INDEX] = {"RGPU_RDMA_GID_INDEX", 254, -1},  [MTU] = {"RGPU_RDMA_MTU", 4096, 0},
    [SERVICE_LEVEL] = {"RGPU_RDMA_SL", 15, -1},      [TRAFFIC_CLASS] = {"RGPU_RDMA_CLASS", 255, 0},
    [DEAD_TIME] = {"RGPU_RDMA_DEAD_MS", 3600000, 0},
};

static long rdma_environment_value_of(const struct fabric_variable *variable)
{
    const char *text = secure_getenv(variable->name);
    char *end;

    if (!text || !*text)
        return variable->unset;
    long value = strtol(text, &end, 10);
    if (*end == 0 && value >= 0 && value <= variable->max)
        return value;
    fprintf(stderr, "rgpu: %s is not a number up to %ld; it is ignored\n", variable->name,
            variable->max);
    return variable->unset;
}

static unsigned packet_size(void)
{
    long value = rdma_environment_value_of(&variables[MTU]);

    if (value && (value < 256 || value & (value - 1))) {
        fprintf(stderr, "rgpu: %s is not 256, 512, 1024, 2048 or 4096; it is ignored\n",
                variables[MTU].name);
        return 0;
    }
    return (unsigned)value;
}

// Reads the client's RDMA settings from the environment (RGPU_RDMA_...). Invalid values are ignored
// with a message. SESSION spreads the sessions of a box over the devices.
static void rdma_environment_read(struct rdma_environment *out, uint64_t session)
{
    const char *addresses = secure_getenv("RGPU_RDMA_ADDRESS"),
               *devices = secure_getenv("RGPU_RDMA_DEVICES");

    snprintf(out->devices, sizeof(out->devices), "%s%s%s", addresses ? addresses : "",
             addresses && devices ? "," : "", devices ? devices : "");
    out->options = (struct rdma_options){
        .devices = out->devices,
        .turn = (unsigned)session,
        .gid_index = (int)rdma_environment_value_of(&variables[GID_INDEX]),
        .mtu = packet_size(),
        .service_level = (int)rdma_environment_value_of(&variables[SERVICE_LEVEL]),
        .traffic_class = (uint8_t)rdma_environment_value_of(&variables[TRAFFIC_CLASS]),
        .dead_ms = (uint32_t)rdma_environment_value_of(&variables[DEAD_TIME]),
    };
}

// A connection over verbs mostly stands soon or not at all, so that the next transport is taken
// after a second. A client that wants nothing else waits as long as a loaded machine may take. The
// worker's wait ends earlier where a client that gives up proposes something else.
enum { CLIENT_TIMEOUT_MS = 1000, FORCED_TIMEOUT_MS = 15000, WORKER_TIMEOUT_MS = 20000 };

static struct rdma_listener *listener;      // NULL: none
static struct rdma_listener *peer_listener; // for the worker that is being met
static struct rdma_options wanted;
static bool try_again;

static bool rdma_row_is_set(const struct rdma_options *options)
{
    return *options->devices || options->gid_index >= 0 || options->first_port;
}

static void listen_now(const struct link_staging *staging)
{
    char text[400];
    int err = rdma_listener_new(&wanted, staging, &listener, text, sizeof(text));

    try_again = err == -ENETDOWN || err == -EADDRINUSE;
    // Most machines have no device, so that is not logged; but a user who names a device needs the
    // reason why it is not used.
    if (err && (rdma_row_is_set(&wanted) || try_again))
        log_warn("no rdma reason=\"%s\"", text);
    else if (err)
        log_debug("no rdma reason=\"%s\"", text);
    else
        log_info("rdma device=%s address=%s port=%u", rdma_listener_device(listener),
                 rdma_listener_address(listener), rdma_listener_port(listener));
}

static void prepare_rdma(const struct transport_worker *worker)
{
    const struct control_setup *setup = worker->setup;
    const struct control_rdma_settings *settings = &setup->fabric;

    wanted = (struct rdma_options){
        .devices = setup->rdma_devices,
        .turn = setup->rdma_turn,
        .gid_index = (int)settings->rdma_gid_index,
        .mtu = settings->rdma_mtu ? 128u << settings->rdma_mtu : 0,
        .service_level = (int)settings->rdma_service_level,
        .traffic_class = (uint8_t)settings->rdma_traffic_class,
        .first_port = setup->rdma_first_port,
        .last_port = setup->rdma_last_port,
        .dead_ms = (uint32_t)(settings->rdma_dead_time / 1000),
        .one_block = !setup->worker.pipeline,
    };
    listen_now(worker->staging);
}

static bool offer_rdma(const struct transport_worker *worker, struct control_offer *offer)
{
    if (worker->grant->protection == CONTROL_PROTECTION_PRIVACY) {
        log_info("no rdma reason=\"protection=privacy, and RDMA sends data as they are\"");
        return false;
    }
    // A device or a port that was not there when the worker started may be there now.
    if (!listener && try_again)
        listen_now(worker->staging);
    if (!listener)
        return false;
    snprintf(offer->address, sizeof(offer->address), "%s", rdma_listener_address(listener));
    offer->port = rdma_listener_port(listener);
    return true;
}

static int accept_rdma(struct transport_worker *worker, const struct control_offer *offer,
                       int64_t deadline, struct link **out, char *text, size_t room)
{
    int err = link_rdma_accept(&listener, offer->token, worker->stream->fd, WORKER_TIMEOUT_MS,
                               &worker->options, out);

    if (!err)
        link_rdma_describe(*out, text, room);
    if (!err && worker->grant->reconnect_ms) {
        struct link_reconnect plan = {.timeout_ms = worker->grant->reconnect_ms};
        err = link_rdma_survive(*out, &plan);
    }
    return err;
}

static void withdraw_rdma(void)
{
    rdma_listener_free(&listener);
}

static const char *obstacle_of_rdma(const struct transport_client *client, char *reason,
                                    size_t room)
{
    if (client->protection == CONTROL_PROTECTION_PRIVACY)
        return "protection=privacy, and RDMA sends data as they are";
    if (client->offer)
        snprintf(reason, room, "the box has a device at %.60s", client->offer->address);
    return NULL;
}

static int connect_rdma(struct transport_client *client, struct link **out, char *text, size_t room)
{
    const struct control_offer *offer = client->offer;
    struct rdma_environment settings;

    rdma_environment_read(&settings, client->session);
    int err = link_rdma_connect(offer->address, offer->port, offer->token, client->stream->fd,
                                client->forced ? FORCED_TIMEOUT_MS : CLIENT_TIMEOUT_MS,
                                &client->options, &settings.options, out, text, room);
    if (err)
        return err;
    if (client->resume) {
        err = transport_survive(client, *out, link_rdma_survive);
        client->stream->fd = -1;
    }
    if (err) {
        link_free(out);
        snprintf(text, room, "the connection cannot be watched: %s", strerror(-err));
        return err;
    }
    link_rdma_describe(*out, text, room);
    log_info("rdma device=\"%s\" box=%s at=%s", text, client->box, offer->address);
    return 0;
}

static struct rdma_options between_workers(void)
{
    struct rdma_options options = wanted;

    options.mutual = true;
    return options;
}

static bool offer_peer_rdma(const struct transport_peer *peer, struct control_offer *offer,
                            char *text, size_t room)
{
    const struct rdma_options options = between_workers();

    if (peer->privacy) {
        snprintf(text, room, "protection=privacy, and RDMA sends data as they are");
        return false;
    }
    if (rdma_listener_new(&options, NULL, &peer_listener, text, room))
        return false;
    snprintf(offer->address, sizeof(offer->address), "%s", rdma_listener_address(peer_listener));
    offer->port = rdma_listener_port(peer_listener);
    return true;
}

static int accept_peer_rdma(const struct transport_peer *peer, const struct control_offer *offer,
                            int timeout_ms, struct link **out, char *text, size_t room)
{
    int err = link_rdma_accept(&peer_listener, offer->token, peer->stream->fd, timeout_ms,
                               &peer->options, out);

    if (!err)
        link_rdma_describe(*out, text, room);
    return err;
}

static void withdraw_peer_rdma(void)
{
    rdma_listener_free(&peer_listener);
}

static int connect_peer_rdma(const struct transport_peer *peer, const struct control_offer *offer,
                             int timeout_ms, struct link **out, char *text, size_t room)
{
    const struct rdma_options options = between_workers();
    int err = link_rdma_connect(offer->address, offer->port, offer->token, peer->stream->fd,
                                timeout_ms, &peer->options, &options, out, text, room);

    if (!err)
        link_rdma_describe(*out, text, room);
    return err;
}

const struct transport transport_rdma = {
    .name = "rdma",
    .words = "rdma",
    .failure = TRANSPORT_TRY_NEXT,
    .listen = transport_listen_nowhere,
    .prepare = prepare_rdma,
    .offer = offer_rdma,
    .accept = accept_rdma,
    .withdraw = withdraw_rdma,
    .introduce = transport_introduce_nothing,
    .obstacle = obstacle_of_rdma,
    .connect = connect_rdma,
    .peer_way = PEER_WAY_RDMA,
    .offer_peer = offer_peer_rdma,
    .accept_peer = accept_peer_rdma,
    .withdraw_peer = withdraw_peer_rdma,
    .connect_peer = connect_peer_rdma,
};

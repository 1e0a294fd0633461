// SPDX-License-Identifier: BSD-3-Clause
// The transport shm, for a client and a worker on the same kernel.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/net/worker_socket.h"
#include "common/base/scope.h"
#include "transport/link/transport.h"

enum { CONNECT_TIMEOUT_MS = 5000 };

// Made before the worker is confined, which takes the making of sockets away. Other boxes' workers
// come to it when the client has.
static struct shm_listener listener = {.fds = {-1, -1}};

static int listen_shm(const struct transport_worker *worker)
{
    return shm_listen(worker->setup->client_socket,
                      worker->setup->has_clients ? CONTROL_WORKER_CLIENTS_FD : -1, &listener);
}

static bool same_kernel(const uint8_t boot_id[CONTROL_BOOT_ID_BYTES])
{
    static const uint8_t unknown[CONTROL_BOOT_ID_BYTES];
    uint8_t ours[CONTROL_BOOT_ID_BYTES];

    return memcmp(boot_id, unknown, sizeof(unknown)) != 0 && control_boot_id(ours) == 0 &&
           memcmp(ours, boot_id, sizeof(ours)) == 0;
}

static bool offer_shm(const struct transport_worker *worker, struct control_offer *offer)
{
    if (listener.fds[0] < 0 || !same_kernel(worker->grant->client_boot_id))
        return false;
    snprintf(offer->address, sizeof(offer->address), "%s", listener.name);
    return true;
}

static int accept_shm(struct transport_worker *worker, const struct control_offer *offer,
                      int64_t deadline, struct link **out, char *text, size_t room)
{
    return link_shm_accept(&listener, offer->token, worker->memory, worker->stream->fd,
                           CONNECT_TIMEOUT_MS, &worker->options, out);
}

static const char *obstacle_of_shm(const struct transport_client *client, char *reason, size_t room)
{
    uint8_t ours[CONTROL_BOOT_ID_BYTES];

    if (control_boot_id(ours))
        return "this process cannot read /proc/sys/kernel/random/boot_id, so that nobody knows "
               "whether the box is on the same host";
    if (!client->offer)
        return NULL;
    if (!same_kernel(client->boot_id))
        return "the box is another host";
    SCOPED_FD int fd = worker_socket_reach(client->offer->address, client->sockets, 0);
    if (fd < 0 && fd != -EAGAIN) {
        snprintf(reason, room, "the box is in another network namespace, and not reached by %s: %s",
                 *client->sockets ? client->sockets : "a socket", strerror(-fd));
        return reason;
    }
    snprintf(reason, room, "same host, shared memory maps");
    return NULL;
}

static int connect_shm(struct transport_client *client, struct link **out, char *text, size_t room)
{
    int err = link_shm_connect(client->offer->address, client->sockets, client->offer->token,
                               client->stream->fd, CONNECT_TIMEOUT_MS, &client->options, out);

    if (err)
        snprintf(text, room, "shared memory of box %s does not map: %s", client->box,
                 strerror(-err));
    return err;
}

static bool offer_peer_shm(const struct transport_peer *peer, struct control_offer *offer,
                           char *text, size_t room)
{
    snprintf(text, room, "the box has no socket for it");
    snprintf(offer->address, sizeof(offer->address), "%s", listener.name);
    return listener.fds[0] >= 0;
}

static int accept_peer_shm(const struct transport_peer *peer, const struct control_offer *offer,
                           int timeout_ms, struct link **out, char *text, size_t room)
{
    struct shm_memory *memory = NULL;
    int err = shm_memory_new(&peer->options, &memory);

    snprintf(text, room, "same host, shared memory maps");
    if (!err)
        err = link_shm_accept(&listener, offer->token, &memory, peer->stream->fd, timeout_ms,
                              &peer->options, out);
    shm_memory_free(&memory);
    return err;
}

static int connect_peer_shm(const struct transport_peer *peer, const struct control_offer *offer,
                            int timeout_ms, struct link **out, char *text, size_t room)
{
    if (!same_kernel(peer->boot_id)) {
        snprintf(text, room, "the boxes are two hosts");
        return -EXDEV;
    }
    int fd = peer->reach(offer->address);
    int err =
        fd < 0 ? fd
               : link_shm_join(fd, offer->token, peer->stream->fd, timeout_ms, &peer->options, out);
    if (err)
        snprintf(text, room, "%s: %s",
                 fd < 0 ? "the other worker's socket is not reached" : "it does not map",
                 strerror(-err));
    else
        snprintf(text, room, "same host, shared memory maps");
    return err;
}

const struct transport transport_shm = {
    .name = "shm",
    .words = "shared memory",
    .failure = TRANSPORT_NEW_SESSION,
    .listen = listen_shm,
    .prepare = transport_prepare_nothing,
    .offer = offer_shm,
    .accept = accept_shm,
    .withdraw = transport_withdraw_nothing,
    .introduce = transport_introduce_nothing,
    .obstacle = obstacle_of_shm,
    .connect = connect_shm,
    .peer_way = PEER_WAY_SHM,
    .offer_peer = offer_peer_shm,
    .accept_peer = accept_peer_shm,
    .withdraw_peer = transport_withdraw_nothing,
    .connect_peer = connect_peer_shm,
};

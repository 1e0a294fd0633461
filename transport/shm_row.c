// SPDX-License-Identifier: BSD-3-Clause
// The transport shm: one memory that both sides map, where they run on one kernel.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "transport/shm_private.h"
#include "transport/transport.h"

enum { CONNECT_TIMEOUT_MS = 5000 };

// Made before the worker is confined, which takes the making of sockets away; -1: none.
static int listener = -1;
static char address[64];

static int listen_shm(void)
{
    return shm_listen(address, sizeof(address), &listener);
}

static void withdraw_shm(void)
{
    if (listener >= 0)
        close(listener);
    listener = -1;
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
    if (listener < 0 || !same_kernel(worker->grant->client_boot_id))
        return false;
    snprintf(offer->address, sizeof(offer->address), "%s", address);
    return true;
}

static int accept_shm(struct transport_worker *worker, const struct control_offer *offer,
                      int64_t deadline, struct link **out, char *text, size_t room)
{
    int err = link_shm_accept(listener, offer->token, worker->memory, worker->stream->fd,
                              CONNECT_TIMEOUT_MS, &worker->options, out);

    withdraw_shm();
    return err;
}

static const char *obstacle_of_shm(const struct transport_client *client, char *reason, size_t room)
{
    if (!client->offer)
        return NULL;
    if (!same_kernel(client->boot_id))
        return "the box is another host";
    if (!shm_can_reach(client->offer->address))
        return "the box is in another network namespace of this host";
    snprintf(reason, room, "same host, shared memory maps");
    return NULL;
}

static int connect_shm(struct transport_client *client, struct link **out, char *text, size_t room)
{
    int err = link_shm_connect(client->offer->address, client->offer->token, client->stream->fd,
                               CONNECT_TIMEOUT_MS, &client->options, out);

    if (err)
        snprintf(text, room, "shared memory of box %s does not map: %s", client->box,
                 strerror(-err));
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
    .withdraw = withdraw_shm,
    .obstacle = obstacle_of_shm,
    .connect = connect_shm,
};

// SPDX-License-Identifier: BSD-3-Clause
// The transport vm: a part of the window of the virtual machine in which the client runs. The
// client lists its windows when it connects to the box; the supervisor knows them too and gives the
// worker a part of one. Each side writes bytes derived from the token there and the other one
// checks them, as proof that both see the same memory.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/log.h"
#include "common/net/session_client.h"
#include "transport/link/transport.h"
#include "transport/vm/vm.h"

enum { CLIENT_MAPPED = 'm' };

#define NO_ROOM "full"

static struct shm_memory *worker_memory;

// ---- the worker's side ----

static void withdraw_vm(void)
{
    shm_memory_free(&worker_memory);
}

static bool offer_vm(const struct transport_worker *worker, struct control_offer *offer)
{
    const struct control_grant *grant = worker->grant;
    struct vm_part part = {.place = grant->window_place, .slot = grant->window_slot};

    if (!*grant->window_id)
        return false;
    if (grant->protection == CONTROL_PROTECTION_PRIVACY) {
        log_info(
            "no vm reason=\"protection=privacy, under which nothing may be said outside of TLS, "
            "not even to wake up\"");
        return false;
    }
    snprintf(offer->address, sizeof(offer->address), NO_ROOM);
    if (!grant->window_room)
        return true;
    snprintf(part.id, sizeof(part.id), "%s", grant->window_id);
    part.block_size = worker->options.block_size;
    part.block_count = worker->options.block_count;
    int err =
        vm_window_session(part.block_size, part.block_count) > grant->window_room
            ? -EPROTO
            : vm_map_worker(worker->window->fd, &part, worker->window->doorbells, &worker_memory);
    if (err) {
        log_error("the window does not map window=%s error=\"%s\"", grant->window_id,
                  strerror(-err));
        return false;
    }
    vm_proof_write(worker_memory, offer->token);
    vm_part_format(&part, offer->address, sizeof(offer->address));
    return true;
}

static int await_mapped(int fd, int64_t deadline)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    uint8_t byte;

    for (;;) {
        int64_t left = deadline - clock_ms();
        int n = left > 0 ? poll(&readable, 1, (int)left) : 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return -ETIMEDOUT;
        ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (got == 1)
            return byte == CLIENT_MAPPED ? 0 : -EPROTO;
        if (got == 0)
            return -ECONNRESET;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
}

static int accept_vm(struct transport_worker *worker, const struct control_offer *offer,
                     int64_t deadline, struct link **out, char *text, size_t room)
{
    struct control_stream *stream = worker->stream;
    int err = worker_memory ? 0 : -ENOSPC;

    if (!err && stream->tls)
        err = control_end_tls(stream, deadline);
    if (!err)
        err = await_mapped(stream->fd, deadline);
    if (!err && !vm_proof_answered(worker_memory, offer->token))
        err = -EACCES;
    if (!err)
        err = worker->show(shm_memory_staging(worker_memory));
    if (!err)
        err = vm_link_worker(&worker_memory, stream->fd, &worker->options, out);
    return err;
}

// ---- the client's side ----

static void introduce_vm(char *text, size_t room)
{
    vm_windows_ids(text, room);
}

static int map_offered(const struct control_offer *offer, struct vm_part *part,
                       const struct vm_window **window, struct shm_memory **out)
{
    *window = vm_part_parse(offer->address, part) ? vm_window_find(part->id) : NULL;
    return *window ? vm_map_client(*window, part, out) : -ENODEV;
}

static const char *obstacle_of_vm(const struct transport_client *client, char *reason, size_t room)
{
    const struct vm_window *window;
    struct vm_part part;
    struct shm_memory *memory;
    char ids[VM_WINDOWS_MAX * VM_WINDOW_ID_TEXT];

    vm_windows_ids(ids, sizeof(ids));
    if (!*ids && !*vm_windows_problem())
        return client->forced ? "this machine has none" : "";
    if (!*ids)
        return vm_windows_problem();
    if (client->protection == CONTROL_PROTECTION_PRIVACY)
        return "protection=privacy, under which nothing may be said outside of TLS";
    if (!client->offer)
        return "the box does not know the one of this machine";
    if (!strcmp(client->offer->address, NO_ROOM))
        return "the one of this machine is full";
    int err = map_offered(client->offer, &part, &window, &memory);
    if (err) {
        snprintf(reason, room, "it does not map: %s", strerror(-err));
        return reason;
    }
    bool same = vm_proof_matches(memory, client->offer->token);
    shm_memory_free(&memory);
    if (!same)
        return "what the box writes there is not seen";
    snprintf(reason, room, "a window of the box's memory into this machine");
    return NULL;
}

static int connect_vm(struct transport_client *client, struct link **out, char *text, size_t room)
{
    const struct control_offer *offer = client->offer;
    struct shm_memory *memory = NULL;
    const uint8_t mapped = CLIENT_MAPPED;
    struct tls *tls = NULL;
    const struct vm_window *window = NULL;
    struct vm_part part;
    int err = session_stream_release(client->stream, CONTROL_PROTECTION_AUTHENTICATE, &tls);

    if (!err)
        err = map_offered(offer, &part, &window, &memory);
    if (!err) {
        vm_proof_answer(memory, offer->token);
        if (send(client->stream->fd, &mapped, 1, MSG_NOSIGNAL) != 1)
            err = -errno;
    }
    if (!err)
        err = vm_link_client(&memory, window, &part, client->stream->fd, &client->options, out);
    if (err) {
        shm_memory_free(&memory);
        snprintf(text, room, "the window of box %s does not map: %s", client->box, strerror(-err));
    }
    return err;
}

const struct transport transport_vm = {
    .name = "vm",
    .words = "window",
    .failure = TRANSPORT_NEW_SESSION,
    .listen = transport_listen_nowhere,
    .prepare = transport_prepare_nothing,
    .offer = offer_vm,
    .accept = accept_vm,
    .withdraw = withdraw_vm,
    .introduce = introduce_vm,
    .obstacle = obstacle_of_vm,
    .connect = connect_vm,
    .peer_way = 0, // workers are no guests
    .offer_peer = transport_offer_no_peer,
    .accept_peer = transport_accept_no_peer,
    .withdraw_peer = transport_withdraw_nothing,
    .connect_peer = transport_connect_no_peer,
};

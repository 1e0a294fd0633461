// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/main/welcome.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/link/transport.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/main/orders.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "daemon/worker/core/snapshot.h"

enum { CHOICE_TIMEOUT_MS = 30000 }; // for the client to say its transport

static struct transport_window window = {.fd = -1, .doorbells = {-1, -1}};

static int show_to_gpu(const struct link_staging *staging)
{
    return pinned_replace(staging) == CUDA_SUCCESS ? 0 : -ENOMEM;
}

static struct transport_worker side = {
    .setup = &setup, .memory = &pinned.shm, .window = &window, .show = show_to_gpu};
static struct control_welcome welcome;

int transports_listen(void)
{
    int err = 0;

    for (const struct transport *const *row = transports; *row && !err; row++)
        err = (*row)->listen(&side);
    return err;
}

void transports_prepare(void)
{
    side.staging = pinned.staging;
    for (const struct transport *const *row = transports; *row; row++)
        if (setup_wants_transport((*row)->name))
            (*row)->prepare(&side);
}

void transports_take_window(int memory, const int doorbells[VM_WINDOW_DOORBELLS])
{
    window.fd = memory;
    memcpy(window.doorbells, doorbells, sizeof(window.doorbells));
}

// A link has descriptors of its own; more of the memory is for those sessions alone that are in the
// window.
static void leave_window(void)
{
    for (int i = 0; i < VM_WINDOW_DOORBELLS; i++)
        if (window.doorbells[i] >= 0)
            close(window.doorbells[i]);
    if (link_memory(session.link) == LINK_MEMORY_WINDOW)
        session.window = window.fd;
    else if (window.fd >= 0)
        close(window.fd);
    if (session.window < 0 && side.grant->window_room)
        ask_window_no_more(side.grant->window_place);
}

static void welcome_withdraw_all(void)
{
    for (const struct transport *const *row = transports; *row; row++)
        (*row)->withdraw();
}

static bool welcome_is_granted(const struct transport *row)
{
    for (uint32_t i = 0; i < side.grant->transports_count; i++)
        if (!strcmp(side.grant->transports[i].name, row->name))
            return true;
    return false;
}

static void welcome_make_offers(void)
{
    for (const struct transport *const *row = transports; *row; row++) {
        struct control_offer *offer = &welcome.offers[welcome.offers_count];
        if (welcome.offers_count == sizeof(welcome.offers) / sizeof(*welcome.offers) ||
            !welcome_is_granted(*row)) {
            (*row)->withdraw();
            continue;
        }
        snprintf(offer->transport, sizeof(offer->transport), "%s", (*row)->name);
        if (getrandom(offer->token, sizeof(offer->token), 0) == (ssize_t)sizeof(offer->token) &&
            (*row)->offer(&side, offer))
            welcome.offers_count++;
        else
            memset(offer, 0, sizeof(*offer));
    }
}

// Not a transport, but clients of any release pass over an offer that they do not know.
static void offer_to_resume(void)
{
    struct control_offer *offer = &welcome.offers[welcome.offers_count];

    if (!side.grant->reconnect_ms ||
        welcome.offers_count == sizeof(welcome.offers) / sizeof(*welcome.offers))
        return;
    snprintf(offer->transport, sizeof(offer->transport), CONTROL_RESUME_OFFER);
    memcpy(offer->token, side.grant->resume_token, sizeof(offer->token));
    welcome.offers_count++;
}

static int send_welcome(int64_t deadline)
{
    size_t size = 0;
    SCOPED_FREE void *snapshot =
        snapshot_make(session.ordinals, session.device_count, side.grant, &size);

    if (!snapshot)
        return -ENOMEM;
    welcome.version = side.grant->version;
    welcome.session = side.grant->session;
    control_boot_id(welcome.boot_id);
    welcome_make_offers();
    offer_to_resume();
    welcome.snapshot = snapshot;
    welcome.snapshot_size = (uint32_t)size;
    return control_send(side.stream, CONTROL_WELCOME, &welcome, deadline);
}

static struct control_offer *offered(const char *name)
{
    for (uint32_t i = 0; i < welcome.offers_count; i++)
        if (!strcmp(welcome.offers[i].transport, name))
            return &welcome.offers[i];
    return NULL;
}

// The client that proposed it connects now. It says that it cannot by proposing something else. 1
// with the link open, 0 where another proposal is to come, -errno.
static int accept_link(const struct transport *row, struct control_offer *offer, int64_t deadline)
{
    char text[160] = "", *reason = session.transport_reason;
    int err = row->accept(&side, offer, deadline, &session.link, text, sizeof(text));

    // It is not offered twice: what it had to give may be gone.
    offer->transport[0] = 0;
    if (err)
        log_info("%s was agreed on but not connected error=\"%s\"", row->words, strerror(-err));
    if (err)
        return row->failure == TRANSPORT_GIVE_UP ? err : 0;
    if (*text) {
        size_t used = strlen(reason);
        snprintf(reason + used, sizeof(session.transport_reason) - used, ", %s", text);
    }
    return 1;
}

static int welcome_take_proposal(int64_t deadline)
{
    struct control_transport_proposal proposal;
    struct control_transport_reply reply = {0};
    int err = control_expect(side.stream, CONTROL_TRANSPORT_PROPOSAL, &proposal, deadline);

    if (err)
        return err;
    const struct transport *row = transport_named(proposal.transport);
    struct control_offer *offer = offered(proposal.transport);
    reply.accepted = row && offer;
    snprintf(reply.text, sizeof(reply.text), "%s", reply.accepted ? "" : "not offered");
    err = control_send(side.stream, CONTROL_TRANSPORT_REPLY, &reply, deadline);
    if (err || !reply.accepted)
        return err;
    snprintf(session.transport, sizeof(session.transport), "%s", row->name);
    snprintf(session.transport_reason, sizeof(session.transport_reason), "%s", proposal.reason);
    return accept_link(row, offer, deadline);
}

int welcome_client(int control, const struct control_grant *grant, struct control_stream *stream)
{
    int64_t deadline = clock_ms() + CHOICE_TIMEOUT_MS;

    side.grant = grant;
    side.stream = stream;
    side.options = (struct link_options){.spin_us = setup_spin_us(),
                                         .block_size = pinned.staging->block_size,
                                         .block_count = pinned.staging->block_count,
                                         .throttle = session.throttle};
    int done = send_welcome(deadline);
    while (!done) {
        struct pollfd fds[] = {{.fd = stream->fd, .events = POLLIN},
                               {.fd = control, .events = POLLIN}};
        int64_t left = deadline - clock_ms();
        int n = left > 0 ? poll(fds, 2, (int)left) : 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return -ETIMEDOUT;
        if (n > 0 && fds[1].revents)
            orders_take();
        done = n > 0 && fds[0].revents ? welcome_take_proposal(deadline) : 0;
    }
    if (done < 0)
        return done;
    welcome_withdraw_all();
    leave_window();
    pinned_drop_unused();
    return 0;
}

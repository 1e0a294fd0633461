// SPDX-License-Identifier: BSD-3-Clause
// The called worker sends its offers (PEER_WAYS). The caller proposes them one after the other and
// connects; the called worker reports the result (TRANSPORT_REPLY). The last proposal, "tcp", means
// to keep the connection.
#include "daemon/worker/peer/peer_ways.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/link/transport.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/core/setup.h"

// A device that leads nowhere must not use up the time of the others.
enum { TRY_MS = 3000 };

// The offers are the process's, so links are made one at a time.
static pthread_mutex_t rendezvous = PTHREAD_MUTEX_INITIALIZER;

static struct transport_peer peer_ways_side_of(const struct peer_ways *ways, const uint8_t *boot_id)
{
    return (struct transport_peer){.setup = &setup,
                                   .privacy = ways->privacy,
                                   .stream = ways->stream,
                                   .boot_id = boot_id,
                                   .reach = ask_reach,
                                   .options = ways->options};
}

static bool peer_ways_is_allowed(const struct peer_ways *ways, const struct transport *row)
{
    return row->peer_way & ways->allowed && setup_wants_transport(row->name);
}

static int time_left(const struct peer_ways *ways)
{
    int64_t left = ways->deadline - clock_ms();

    return left < 0 ? 0 : left > TRY_MS ? TRY_MS : (int)left;
}

__attribute__((format(printf, 4, 5))) static void add(char *text, size_t room, const char *name,
                                                      const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    used += (size_t)snprintf(text + used, room - used, "%sno %s: ", used ? "; " : "", name);
    if (used >= room)
        return;
    va_start(args, format);
    vsnprintf(text + used, room - used, format, args);
    va_end(args);
}

// ---- the one that was called ----

static void peer_ways_make_offers(const struct peer_ways *ways, struct control_peer_ways *offers)
{
    const struct transport_peer side = peer_ways_side_of(ways, NULL);

    for (const struct transport *const *row = transports; *row; row++) {
        struct control_offer *offer = &offers->offers[offers->offers_count];
        char why[200] = "";
        if (!peer_ways_is_allowed(ways, *row) ||
            offers->offers_count == sizeof(offers->offers) / sizeof(*offers->offers))
            continue;
        snprintf(offer->transport, sizeof(offer->transport), "%s", (*row)->name);
        if (getrandom(offer->token, sizeof(offer->token), 0) == (ssize_t)sizeof(offer->token) &&
            (*row)->offer_peer(&side, offer, why, sizeof(why))) {
            offers->offers_count++;
            continue;
        }
        log_debug("no %s for another box's worker reason=\"%s\"", (*row)->name, why);
        memset(offer, 0, sizeof(*offer));
    }
}

static void peer_ways_withdraw_all(void)
{
    for (const struct transport *const *row = transports; *row; row++)
        (*row)->withdraw_peer();
}

// 1: it stands, or is to stay as it is; 0: something else will be proposed; -errno.
static int peer_ways_take_proposal(const struct peer_ways *ways,
                                   const struct control_peer_ways *offers, struct link **out,
                                   char *reason, size_t room)
{
    const struct transport_peer side = peer_ways_side_of(ways, NULL);
    struct control_transport_proposal proposal;
    struct control_transport_reply reply = {.accepted = true};
    const struct control_offer *offer = offers->offers;
    int err = control_expect(ways->stream, CONTROL_TRANSPORT_PROPOSAL, &proposal, ways->deadline);

    if (err)
        return err;
    const struct transport *row = transport_named(proposal.transport);
    snprintf(reason, room, "%s", proposal.reason);
    if (row && !row->peer_way)
        return 1;
    while (offer < offers->offers + offers->offers_count &&
           strcmp(offer->transport, proposal.transport) != 0)
        offer++;
    if (!row || offer == offers->offers + offers->offers_count)
        return -EPROTO;
    err = row->accept_peer(&side, offer, time_left(ways), out, reason, room);
    if (err) {
        log_debug("%s was tried with another box's worker error=\"%s\"", row->words,
                  strerror(-err));
        return err == -ECONNRESET ? err : 0;
    }
    return control_send(ways->stream, CONTROL_TRANSPORT_REPLY, &reply, ways->deadline) ?: 1;
}

int peer_ways_called(const struct peer_ways *ways, struct link **out, char *reason, size_t room)
{
    SCOPED_FREE struct control_peer_ways *offers = calloc(1, sizeof(*offers));

    *out = NULL;
    if (!offers)
        return -ENOMEM;
    SCOPED_LOCK(&rendezvous);
    control_boot_id(offers->boot_id);
    peer_ways_make_offers(ways, offers);
    int done = control_send(ways->stream, CONTROL_PEER_WAYS, offers, ways->deadline);
    while (!done)
        done = peer_ways_take_proposal(ways, offers, out, reason, room);
    explicit_bzero(offers, sizeof(*offers));
    peer_ways_withdraw_all();
    if (done < 0)
        link_free(out);
    return done < 0 ? done : 0;
}

// ---- the caller ----

static int propose(const struct peer_ways *ways, const char *transport, const char *reason)
{
    struct control_transport_proposal proposal = {0};

    snprintf(proposal.transport, sizeof(proposal.transport), "%s", transport);
    snprintf(proposal.reason, sizeof(proposal.reason), "%s", reason);
    return control_send(ways->stream, CONTROL_TRANSPORT_PROPOSAL, &proposal, ways->deadline);
}

static int peer_ways_await_reply(const struct peer_ways *ways)
{
    struct control_transport_reply reply;

    return control_expect(ways->stream, CONTROL_TRANSPORT_REPLY, &reply, ways->deadline);
}

static const struct control_offer *peer_ways_offer_of(const struct control_peer_ways *offers,
                                                      const char *name)
{
    for (uint32_t i = 0; i < offers->offers_count; i++)
        if (!strcmp(offers->offers[i].transport, name))
            return &offers->offers[i];
    return NULL;
}

// 1: it stands; 0: it does not, and WHY has the reason as well; -errno.
static int peer_ways_try(const struct peer_ways *ways, const struct transport *row,
                         const struct control_peer_ways *offers, struct link **out, char *why,
                         size_t room)
{
    const struct transport_peer side = peer_ways_side_of(ways, offers->boot_id);
    const struct control_offer *offer = peer_ways_offer_of(offers, row->name);
    char text[200] = "";

    if (!setup_wants_transport(row->name) || !offer) {
        add(why, room, row->name, "%s box has none", offer ? "this" : "the other");
        return 0;
    }
    int err = propose(ways, row->name, "");
    if (err)
        return err;
    err = row->connect_peer(&side, offer, time_left(ways), out, text, sizeof(text));
    if (err) {
        add(why, room, row->name, "%s", text);
        return 0;
    }
    snprintf(why, room, "%s", text);
    return peer_ways_await_reply(ways) ?: 1;
}

int peer_ways_caller(const struct peer_ways *ways, struct link **out, char *reason, size_t room)
{
    SCOPED_FREE struct control_peer_ways *offers = calloc(1, sizeof(*offers));
    int done = offers ? control_expect(ways->stream, CONTROL_PEER_WAYS, offers, ways->deadline)
                      : -ENOMEM;

    *out = NULL;
    *reason = '\0';
    for (const struct transport *const *row = transports; *row && !done; row++)
        if ((*row)->peer_way & ways->allowed)
            done = peer_ways_try(ways, *row, offers, out, reason, room);
    if (!done)
        done = propose(ways, "tcp", reason);
    if (offers)
        explicit_bzero(offers, sizeof(*offers));
    if (done < 0)
        link_free(out);
    return done < 0 ? done : 0;
}

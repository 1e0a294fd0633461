// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/clients/rendezvous.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/log.h"
#include "daemon/rgpud/box/limits.h"
#include "daemon/rgpud/clients/admission.h"

enum { REVIEW_MS = 10000 }; // then a waiting client learns that there is no publisher

// Returns true if the client is in a rendezvous of LEASE.
static bool is_in_rendezvous(const struct client *client, const char *lease)
{
    return client->state == CLIENT_RENDEZVOUS && !strcmp(client->ticket->lease, lease);
}

unsigned rendezvous_count(const struct box *box)
{
    const struct client *client;
    unsigned count = 0;

    TAILQ_FOREACH(client, &box->clients, link)
        count += client->state == CLIENT_RENDEZVOUS;
    return count;
}

// Returns -errno if the client does not accept the answer.
static int rendezvous_answer(struct client *client, enum control_rendezvous_reply_state state,
                             const uint8_t *id)
{
    struct control_rendezvous_reply rendezvous = {.magic = CONTROL_MAGIC, .state = state};

    snprintf(rendezvous.box, sizeof(rendezvous.box), "%s", client->box->name);
    if (id)
        memcpy(rendezvous.id, id, sizeof(rendezvous.id));
    return client_reply(client, CONTROL_RENDEZVOUS_REPLY, &rendezvous);
}

static void answer_and_part(struct client *client, enum control_rendezvous_reply_state state,
                            const uint8_t *id)
{
    if (rendezvous_answer(client, state, id))
        log_debug("the answer of a rendezvous is not taken peer=%s", client->peer);
    client_free(client);
}

// Returns the client that has published a value under CLIENT's name, or NULL.
static const struct client *who_has_said(const struct client *client)
{
    const struct client *other;

    TAILQ_FOREACH(other, &client->box->clients, link)
        if (is_in_rendezvous(other, client->ticket->lease) && other->meet.says &&
            !memcmp(other->meet.name, client->meet.name, sizeof(client->meet.name)))
            return other;
    return NULL;
}

static void tell_those_who_ask(const struct client *said)
{
    struct client *client, *next;

    for (client = TAILQ_FIRST(&said->box->clients); client; client = next) {
        next = TAILQ_NEXT(client, link);
        if (is_in_rendezvous(client, said->ticket->lease) && !client->meet.says &&
            !memcmp(client->meet.name, said->meet.name, sizeof(said->meet.name)))
            answer_and_part(client, CONTROL_RENDEZVOUS_REPLY_STATE_SAID, said->meet.id);
    }
}

static void rendezvous_stay(struct client *client)
{
    client_move(client, CLIENT_RENDEZVOUS);
    client_set_timer(client, REVIEW_MS);
}

static void rendezvous_say(struct client *client)
{
    if (rendezvous_answer(client, CONTROL_RENDEZVOUS_REPLY_STATE_SAID, NULL)) {
        client_free(client);
        return;
    }
    rendezvous_stay(client);
    tell_those_who_ask(client);
}

void rendezvous_take(struct client *client)
{
    struct control_rendezvous *meet = &client->meet;
    struct session_grant grant;
    enum limit_level level;

    if (control_decode(&client->frame, CONTROL_RENDEZVOUS, meet) || meet->magic != CONTROL_MAGIC ||
        meet->says > 1) {
        client_refuse(client, CONTROL_REFUSAL_PROTOCOL, "malformed MEET");
        return;
    }
    if (!client->ticket) {
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION,
                      "only processes of a lease meet at a box, and this one shows no ticket");
        return;
    }
    if (!admission_grants(client, &grant))
        return;
    const struct client *said = who_has_said(client);
    if (said && meet->says)
        answer_and_part(client, CONTROL_RENDEZVOUS_REPLY_STATE_TAKEN, NULL);
    else if (said)
        answer_and_part(client, CONTROL_RENDEZVOUS_REPLY_STATE_SAID, said->meet.id);
    else if ((level = client_count(client, LIMITED_RENDEZVOUS)))
        client_refuse(client, CONTROL_REFUSAL_BUSY,
                      "%llu processes of %s %.100s already look for others at this box",
                      (unsigned long long)limits_most(client->box->limits, LIMITED_RENDEZVOUS,
                                                      level),
                      limits_level_name(level),
                      level == LIMIT_OF_LEASE ? client->ticket->lease : client->box->name);
    else if (meet->says)
        rendezvous_say(client);
    else
        rendezvous_stay(client);
}

void rendezvous_watch(struct client *client)
{
    uint8_t byte;
    ssize_t n = recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

    if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        client_free(client);
}

void rendezvous_review(struct client *client)
{
    struct session_grant grant;
    int problem = admission_check_use(client->box, client->ticket);

    if (!client->meet.says)
        answer_and_part(client, CONTROL_RENDEZVOUS_REPLY_STATE_NOBODY, NULL);
    else if (problem)
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is not accepted: %s",
                      ticket_error(problem));
    else if (admission_grants(client, &grant))
        client_set_timer(client, REVIEW_MS);
}

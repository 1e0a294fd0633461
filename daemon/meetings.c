// SPDX-License-Identifier: BSD-3-Clause
// See meetings.h.
#include "daemon/meetings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/log.h"
#include "daemon/admission.h"

enum {
    REVIEW_MS = 10000,        // after which who asks is told that nobody has come
    LEASE_MEETINGS_MAX = 256, // clients of one lease at once
};

// LEASE NULL: any.
static bool is_in_meeting(const struct client *client, const char *lease)
{
    return client->state == CLIENT_MEETING && (!lease || !strcmp(client->ticket->lease, lease));
}

static unsigned count_meetings(const struct box *box, const char *lease)
{
    const struct client *client;
    unsigned count = 0;

    TAILQ_FOREACH(client, &box->clients, link)
        count += is_in_meeting(client, lease);
    return count;
}

unsigned meetings_count(const struct box *box)
{
    return count_meetings(box, NULL);
}

// -errno: the client does not take it.
static int answer(struct client *client, enum control_meeting_state state, const uint8_t *id)
{
    struct control_meeting meeting = {.magic = CONTROL_MAGIC, .state = state};

    snprintf(meeting.box, sizeof(meeting.box), "%s", client->box->name);
    if (id)
        memcpy(meeting.id, id, sizeof(meeting.id));
    return client_reply(client, CONTROL_MEETING, &meeting);
}

static void answer_and_part(struct client *client, enum control_meeting_state state,
                            const uint8_t *id)
{
    if (answer(client, state, id))
        log_debug("the answer of a meeting is not taken peer=%s", client->peer);
    client_free(client);
}

// Who has said something by the name that CLIENT uses.
static const struct client *who_has_said(const struct client *client)
{
    const struct client *other;

    TAILQ_FOREACH(other, &client->box->clients, link)
        if (is_in_meeting(other, client->ticket->lease) && other->meet.says &&
            !memcmp(other->meet.name, client->meet.name, sizeof(client->meet.name)))
            return other;
    return NULL;
}

static void tell_those_who_ask(const struct client *said)
{
    struct client *client, *next;

    for (client = TAILQ_FIRST(&said->box->clients); client; client = next) {
        next = TAILQ_NEXT(client, link);
        if (is_in_meeting(client, said->ticket->lease) && !client->meet.says &&
            !memcmp(client->meet.name, said->meet.name, sizeof(said->meet.name)))
            answer_and_part(client, CONTROL_MEETING_STATE_SAID, said->meet.id);
    }
}

static void stay(struct client *client)
{
    client_move(client, CLIENT_MEETING);
    client_set_timer(client, REVIEW_MS);
}

static void say(struct client *client)
{
    if (answer(client, CONTROL_MEETING_STATE_SAID, NULL)) {
        client_free(client);
        return;
    }
    stay(client);
    tell_those_who_ask(client);
}

void meeting_take(struct client *client)
{
    struct control_meet *meet = &client->meet;
    struct session_grant grant;

    if (control_decode(&client->frame, CONTROL_MEET, meet) || meet->magic != CONTROL_MAGIC ||
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
        answer_and_part(client, CONTROL_MEETING_STATE_TAKEN, NULL);
    else if (said)
        answer_and_part(client, CONTROL_MEETING_STATE_SAID, said->meet.id);
    else if (count_meetings(client->box, client->ticket->lease) >= LEASE_MEETINGS_MAX)
        client_refuse(client, CONTROL_REFUSAL_BUSY,
                      "%d processes of lease %.100s already look for others at this box",
                      LEASE_MEETINGS_MAX, client->ticket->lease);
    else if (meet->says)
        say(client);
    else
        stay(client);
}

void meeting_watch(struct client *client)
{
    uint8_t byte;
    ssize_t n = recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

    if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        client_free(client);
}

void meeting_review(struct client *client)
{
    struct session_grant grant;
    int problem = admission_check_use(client->box, client->ticket);

    if (!client->meet.says)
        answer_and_part(client, CONTROL_MEETING_STATE_NOBODY, NULL);
    else if (problem)
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is not accepted: %s",
                      ticket_error(problem));
    else if (admission_grants(client, &grant))
        client_set_timer(client, REVIEW_MS);
}

// SPDX-License-Identifier: BSD-3-Clause
// Chooses the transport of a session: the first one of the table that the box offers and that
// works, or the one that RGPU_TRANSPORT names.
#include "client-lib/cuda/session/choose_transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/cuda/report/tell.h"
#include "common/base/log.h"
#include "common/base/copy_path.h"
#include "common/base/units.h"

enum { SPIN_PROCESSORS = 8, SPIN_FOR_GPU_US = 2000, RECONNECT_SECONDS = 60 };

int transport_choice(const struct transport **choice)
{
    const char *text = secure_getenv("RGPU_TRANSPORT");

    *choice = NULL;
    if (!text || !*text || strcmp(text, "auto") == 0)
        return 0;
    *choice = transport_named(text);
    if (*choice)
        return 0;
    tell("RGPU_TRANSPORT is not one of auto, " CONTROL_TRANSPORT_WORDS);
    return -EINVAL;
}

int protection_choice(enum control_protection *choice)
{
    const char *text = secure_getenv("RGPU_PROTECTION");

    *choice = CONTROL_PROTECTION_NONE;
    if (!text || !*text)
        return 0;
    if (strcmp(text, "authenticate") == 0)
        *choice = CONTROL_PROTECTION_AUTHENTICATE;
    else if (strcmp(text, "privacy") == 0)
        *choice = CONTROL_PROTECTION_PRIVACY;
    else
        tell("RGPU_PROTECTION is not one of authenticate, privacy");
    return *choice == CONTROL_PROTECTION_NONE ? -EINVAL : 0;
}

int mapped_host_choice(enum mapped_host *choice)
{
    static const char *const words[] = {
        [MAPPED_HOST_AUTO] = "auto", [MAPPED_HOST_NO] = "no", [MAPPED_HOST_MIRROR] = "mirror"};
    const char *text = secure_getenv("RGPU_MAPPED_HOST");

    *choice = MAPPED_HOST_AUTO;
    if (!text || !*text)
        return 0;
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            *choice = (enum mapped_host)i;
            return 0;
        }
    }
    tell("RGPU_MAPPED_HOST is not one of auto, no, mirror");
    return -EINVAL;
}

int paths_choice(unsigned *forced)
{
    const char *text = secure_getenv("RGPU_PATHS");
    int paths = text && *text ? copy_path_parse(text) : 0;

    if (paths < 0) {
        tell("RGPU_PATHS is neither auto nor a list of " PATH_WORDS);
        return paths;
    }
    *forced = (unsigned)paths;
    return 0;
}

// Returns false if the variable is set to an invalid number.
static bool choose_transport_number_of(const char *variable, uint32_t least, uint32_t most,
                                       uint32_t *out)
{
    const char *text = secure_getenv(variable);
    char *end;
    if (!text || !*text)
        return true;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value < least || value > most)
        return false;
    *out = (uint32_t)value;
    return true;
}

static struct link_options link_settings(void)
{
    struct link_options options = {.spin_us = link_default_spin_us()};
    // A thread that waits for the GPU spins, as with a local GPU, if there are enough processors:
    // waking a sleeping thread takes tens of microseconds.
    if (sysconf(_SC_NPROCESSORS_ONLN) >= SPIN_PROCESSORS)
        options.spin_us = SPIN_FOR_GPU_US;
    if (!choose_transport_number_of("RGPU_SPIN_US", 0, 1000000, &options.spin_us))
        tell("RGPU_SPIN_US is not a number of microseconds up to 1000000; it is ignored");
    return options;
}

static unsigned connections_choice(void)
{
    uint32_t connections = 0;
    if (!choose_transport_number_of("RGPU_TCP_CONNECTIONS", 1, LINK_EXTRA_MAX + 1, &connections))
        tell("RGPU_TCP_CONNECTIONS is not a number from 1 to 8; it is ignored");
    return connections;
}

uint32_t reconnect_choice(void)
{
    const char *text = secure_getenv("RGPU_RECONNECT");
    uint64_t us = RECONNECT_SECONDS * 1000000;

    if (text && *text && units_parse_duration(text, &us)) {
        tell("RGPU_RECONNECT is not a time, such as 60 or 5min; it is ignored");
        us = RECONNECT_SECONDS * 1000000;
    }
    return us / 1000 < CONTROL_RECONNECT_MS_MAX ? (uint32_t)(us / 1000) : CONTROL_RECONNECT_MS_MAX;
}

static const char *sockets_directory(void)
{
    const char *directory = secure_getenv("RGPU_CLIENT_SOCKETS");

    return directory ? directory : CONTROL_CLIENT_SOCKETS;
}

struct choice {
    struct box_session *session;
    const struct session_welcome *welcome;
    struct transport_client side;
    char obstacles[200]; // reasons against other transports
    char reason[256];    // for the transport that is being tried
    struct session_error *error;
};

static const struct control_offer *choose_transport_offer_of(const struct session_welcome *welcome,
                                                             const char *name)
{
    for (uint32_t i = 0; i < welcome->offer.offers_count; i++)
        if (strcmp(welcome->offer.offers[i].transport, name) == 0)
            return &welcome->offer.offers[i];
    return NULL;
}

// The end of an attempt: the session has its link, the next transport must be tried, or the session
// has failed.
enum attempt { LINKED, NEXT, OVER };

static enum attempt note_obstacle(struct choice *choice, const struct transport *row,
                                  const char *text)
{
    size_t used = strlen(choice->obstacles);
    if (!*text)
        return NEXT;
    snprintf(choice->obstacles + used, sizeof(choice->obstacles) - used, "%sno %s: %s",
             used ? "; " : "", row->words, text);
    return NEXT;
}

// States the reason for the choice: the obstacles of other transports, and the merit of this one.
static void state_reason(struct choice *choice, const struct transport *row, const char *speaks)
{
    const char *others = choice->obstacles;
    if (!*others && !*speaks)
        snprintf(choice->reason, sizeof(choice->reason), "asked for by RGPU_TRANSPORT=%s",
                 row->name);
    else
        snprintf(choice->reason, sizeof(choice->reason), "%s%s%s", others,
                 *others && *speaks ? "; " : "", speaks);
}

static enum attempt choose_transport_fail(struct choice *choice, const struct transport *row,
                                          int err, const char *text)
{
    choice->error->lost = session_was_cut(err);
    if (row->failure == TRANSPORT_TRY_NEXT) {
        if (!choice->side.forced)
            log_info("no %s box=%s reason=\"%s\"", row->words, choice->session->box, text);
        return note_obstacle(choice, row, text);
    }
    choice->error->result = row->failure == TRANSPORT_GIVE_UP ? CUDA_ERROR_SYSTEM_NOT_READY : 0;
    snprintf(choice->error->text, sizeof(choice->error->text), "%s", text);
    return OVER;
}

static enum attempt choose_transport_try(struct choice *choice, const struct transport *row)
{
    struct transport_client *side = &choice->side;
    char speaks[120] = "", text[320] = "";
    side->offer = choose_transport_offer_of(choice->welcome, row->name);
    const char *obstacle = row->obstacle(side, speaks, sizeof(speaks));
    if (!obstacle && !side->offer)
        obstacle = "the box offers none";
    if (obstacle)
        return note_obstacle(choice, row, obstacle);
    state_reason(choice, row, speaks);
    // If a worker declines what it has offered, another session may still succeed.
    if (session_propose_transport(side->stream, row->name, choice->reason, choice->error) != 0)
        return OVER;
    int err = row->connect(side, &choice->session->link, text, sizeof(text));
    if (err)
        return choose_transport_fail(choice, row, err, text);
    choice->session->transport = row->name;
    return LINKED;
}

static int choose_transport_refuse(struct choice *choice, const char *wanted)
{
    choice->error->result = CUDA_ERROR_SYSTEM_NOT_READY;
    snprintf(choice->error->text, sizeof(choice->error->text),
             "RGPU_TRANSPORT=%s, but %s (box %s); use RGPU_TRANSPORT=auto", wanted,
             choice->obstacles, choice->session->box);
    return -1;
}

static int choose_transport_take(struct choice *choice, const struct transport *wanted)
{
    for (const struct transport *const *row = transports; *row; row++) {
        if (wanted && *row != wanted)
            continue;
        enum attempt attempt = choose_transport_try(choice, *row);
        if (attempt != NEXT)
            return attempt == LINKED ? 0 : -1;
    }
    return choose_transport_refuse(choice, wanted ? wanted->name : "auto");
}

int session_choose_link(struct box_session *session, const struct session_welcome *welcome,
                        const struct transport *wanted, struct session_error *error)
{
    struct choice choice = {
        .session = session,
        .welcome = welcome,
        .side = {.box = session->box,
                 .boot_id = welcome->boot_id,
                 .sockets = sockets_directory(),
                 .protection = welcome->protection,
                 .session = session->id,
                 .forced = wanted != NULL,
                 .connections = connections_choice(),
                 .address = session->address,
                 .resume = choose_transport_offer_of(welcome, CONTROL_RESUME_OFFER),
                 .reconnect_ms = session->reconnect_ms,
                 .stream = &session->stream,
                 .options = link_settings()},
        .error = error,
    };
    session->spin_us = choice.side.options.spin_us;
    session->protection = welcome->protection;
    memcpy(session->boot_id, welcome->boot_id, sizeof(session->boot_id));
    if (choose_transport_take(&choice, wanted) != 0)
        return -1;
    snprintf(session->transport_reason, sizeof(session->transport_reason), "%s", choice.reason);
    // The only thing that may still arrive on the connection is its end.
    tls_discard(&session->stream.tls);
    log_info("session opened box=%s session=%llu protection=%s transport=%s reason=\"%s\"",
             session->box, (unsigned long long)session->id,
             control_protection_name(welcome->protection), session->transport, choice.reason);
    return 0;
}

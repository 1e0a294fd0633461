// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/clients/waiting_clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/clients/admission.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/workers/exclusion.h"
#include "common/base/copy_path.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/box/offered_transports.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/suspension/suspension.h"
#include "daemon/rgpud/vm/vm_windows.h"
#include "daemon/rgpud/workers/warm_pool.h"
#include "daemon/rgpud/supervision/worker_life.h"

enum { QUEUE_INTERVAL_MS = 1000 };

void waiting_join(struct client *client)
{
    client->queued_ms = clock_ms();
    client_move(client, CLIENT_QUEUED);
    // The list is in order of arrival, but clients are served in the order in which their logins
    // ended.
    TAILQ_REMOVE(&client->box->clients, client, link);
    TAILQ_INSERT_TAIL(&client->box->clients, client, link);
    evtimer_del(client->timer);
    box_changed(client->box);
}

void waiting_watch(struct client *client)
{
    uint8_t byte;
    ssize_t n = recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

    if (n > 0) {
        client_refuse(client, CONTROL_REFUSAL_PROTOCOL, "a message out of order while queued");
    } else if (!n || (errno != EAGAIN && errno != EINTR)) {
        log_info("client left the queue peer=%s waited_ms=%lld", client->peer,
                 (long long)(clock_ms() - client->queued_ms));
        client_free(client);
    }
}

struct client *waiting_next(struct box *box, struct client *after)
{
    struct client *client = after ? TAILQ_NEXT(after, link) : TAILQ_FIRST(&box->clients);

    while (client && client->state != CLIENT_QUEUED)
        client = TAILQ_NEXT(client, link);
    return client;
}

unsigned waiting_count(struct box *box)
{
    struct client *client;
    unsigned count = 0;

    for (client = waiting_next(box, NULL); client; client = waiting_next(box, client))
        count++;
    return count;
}

const struct box_device *waiting_first_device(const struct client *client)
{
    return client->resolved ? client->grant.devices[0] : NULL;
}

device_set waiting_device_set(const struct client *client)
{
    return client->resolved ? device_set_of(&client->grant) : 0;
}

struct mps_part waiting_part(const struct client *client)
{
    return client->resolved ? client->grant.part : (struct mps_part){0};
}

// Refuses a client whose ticket has expired while it waits. Returns true if it did.
static bool has_expired(struct client *client)
{
    int problem = client->ticket ? admission_check_use(client->box, client->ticket) : 0;

    if (problem)
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is not accepted: %s",
                      ticket_error(problem));
    return problem;
}

void waiting_tell(struct client *client)
{
    struct control_queued queued = {.interval_ms = QUEUE_INTERVAL_MS};
    struct client *other;

    if (has_expired(client))
        return;
    // Clients that wait for other GPUs do not count.
    for (other = waiting_next(client->box, NULL); other && other != client;
         other = waiting_next(client->box, other))
        queued.position += waiting_first_device(other) == waiting_first_device(client);
    client->waited = true;
    if (client_reply(client, CONTROL_QUEUED, &queued))
        client_free(client);
    else
        client_set_timer(client, QUEUE_INTERVAL_MS);
}

// ---- handing over ----

// Returns the strictest protection that box, ticket and client ask for.
static enum control_protection protection_of(const struct client *client)
{
    enum control_protection protection = CONTROL_PROTECTION_NONE;

    if (!client->tls)
        return protection;
    protection = (enum control_protection)(client->box->settings.protection +
                                           CONTROL_PROTECTION_AUTHENTICATE);
    if (client->ticket->protection > protection)
        protection = client->ticket->protection;
    return client->hello.protection > protection ? client->hello.protection : protection;
}

// Allows further connections of the session. Without random bytes it has only one, which also
// works, and ends with it.
static void grant_extra(const struct box *box, const struct control_hello *hello,
                        struct control_grant *grant)
{
    ssize_t size = sizeof(grant->extra_token);

    if (getrandom(grant->extra_token, (size_t)size, 0) == size)
        grant->extra_connections = (uint8_t)(box->settings.tcp_connections - 1);
    size = sizeof(grant->resume_token);
    if (getrandom(grant->resume_token, (size_t)size, 0) == size)
        grant->reconnect_ms = hello->reconnect_ms < CONTROL_RECONNECT_MS_MAX
                                  ? hello->reconnect_ms
                                  : CONTROL_RECONNECT_MS_MAX;
}

static int fill_grant(const struct client *client, uint64_t session, struct control_grant *grant)
{
    memset(grant, 0, sizeof(*grant));
    grant->session = session;
    grant->version = client->version;
    grant->client_calls = client->hello.calls;
    grant->transports_count = transports_allowed(&client->box->settings, grant->transports);
    grant->protection = protection_of(client);
    memcpy(grant->client_boot_id, client->hello.boot_id, sizeof(grant->client_boot_id));
    grant->client_pid = client->hello.pid;
    snprintf(grant->lease, sizeof(grant->lease), "%s", client->grant.lease);
    snprintf(grant->client, sizeof(grant->client), "%.200s %u@%.200s", client->hello.program,
             client->hello.pid, client->hello.host);
    grant->devices_count = client->grant.device_count;
    for (uint32_t i = 0; i < grant->devices_count; i++) {
        grant->devices[i].ordinal = client->grant.devices[i]->ordinal;
        grant->devices[i].budget = client->grant.budgets[i];
        const struct control_device *named = &client->grant.named[i]->info;
        memcpy(grant->devices[i].uuid, named->uuid, sizeof(grant->devices[i].uuid));
        snprintf(grant->devices[i].pci, sizeof(grant->devices[i].pci), "%s", named->pci);
    }
    grant->forced_paths = (uint32_t)copy_path_parse(client->box->settings.paths);
    grant_extra(client->box, &client->hello, grant);
    return client->tls ? tls_export(client->tls, grant->secret) : 0;
}

static void fill_session(const struct client *client, const struct control_grant *grant,
                         struct session_record *session)
{
    *session = (struct session_record){.id = grant->session,
                                       .grant = client->grant,
                                       .since_ms = clock_ms(),
                                       .waited = client->waited,
                                       .protection = grant->protection,
                                       .client_pid = grant->client_pid,
                                       .ticket = client->ticket ? client->ticket_text : NULL};
    snprintf(session->client, sizeof(session->client), "%s", grant->client);
    snprintf(session->peer, sizeof(session->peer), "%s", client->peer);
    memcpy(session->client_boot_id, grant->client_boot_id, sizeof(session->client_boot_id));
}

static void note_session(struct worker_process *worker, const struct client *client,
                         const struct control_grant *grant)
{
    const struct session_record *session = &worker->session;

    worker->active_ms = session->since_ms;
    lease_turns_note(&client->box->lease_turns, client->ticket ? client->ticket->lease : "");
    histogram_add(&client->box->session_starts,
                  (double)(session->since_ms - client->queued_ms) / 1000);
    log_info("session=%llu begins pid=%d client=\"%s\" peer=%s device=%s devices=%u lease=%s "
             "protection=%s library=%s waited_ms=%lld",
             (unsigned long long)session->id, (int)worker->pid, session->client, session->peer,
             worker->device->uuid, grant->devices_count, *grant->lease ? grant->lease : "none",
             control_protection_name(session->protection), client->hello.library,
             (long long)(session->since_ms - client->queued_ms));
}

// Sends the grant with all descriptors that the worker needs for this client.
static int grant_to(struct worker_process *worker, const struct client *client,
                    struct control_grant *grant, const int *account)
{
    static struct session_record session;
    int fds[FDPASS_MAX] = {client->fd};
    size_t count = 1;

    for (int i = 0; account && i < LEDGER_FDS; i++)
        fds[count++] = account[i];
    vm_windows_join(worker, &client->hello, grant, fds, &count);
    fill_session(client, grant, &session);
    return worker_grant(worker, grant, &session, fds, count);
}

// Gives the client to the worker. If that worker has just ended, tries the next warm one.
static bool give_to_worker(struct client *client, struct worker_process *worker,
                           struct control_grant *grant, const int *account)
{
    struct control_granted granted = {.session = grant->session,
                                      .devices = grant->devices_count,
                                      .protection = grant->protection};

    if (client_reply(client, CONTROL_GRANTED, &granted))
        return false;
    while (worker && grant_to(worker, client, grant, account))
        worker = worker_find_warm(client->box, client->grant.devices[0],
                                  device_set_of(&client->grant), client->grant.part);
    if (!worker)
        log_warn("the worker died, and there is no other peer=%s", client->peer);
    else
        note_session(worker, client, grant);
    return worker != NULL;
}

static void waiting_clients_hand_over(struct client *client, struct worker_process *worker)
{
    struct box *box = client->box;
    SCOPED_FREE struct control_grant *grant = malloc(sizeof(*grant));
    uint64_t session = box->next_session++;
    const int *account = NULL; // NULL: no account
    int err = grant ? accounts_join(box, &client->grant, session, &account) : -ENOMEM;

    overcommit_join(box, &client->grant);

    if (err == -ENOSPC)
        client_refuse(client, CONTROL_REFUSAL_BUDGET,
                      "the memory of the lease has no room for the context of one more process");
    else if (err && err != -ENOENT)
        client_refuse(client, CONTROL_REFUSAL_BUSY, "the lease has too many sessions on this box");
    else {
        // After GRANTED the connection belongs to the worker. If the hand-over failed, the
        // connection is useless.
        if (fill_grant(client, session, grant) || !give_to_worker(client, worker, grant, account))
            accounts_leave(box, client->grant.lease, session);
        client_free(client);
    }
    if (grant)
        explicit_bzero(grant, sizeof(*grant));
}

// Returns false if the client must wait for a session that is ending, or has been refused.
static bool has_gpus_for_itself(struct client *client)
{
    const struct worker_process *other = exclusion_find(client->box, &client->grant);

    if (other && other->state != WORKER_ENDING)
        client_refuse(
            client, CONTROL_REFUSAL_BUSY,
            "a GPU of the ticket is in use by another lease (%s), beside which it cannot be used",
            other->session.grant.lease);
    return !other;
}

static bool is_full(const struct box *box, const struct session_grant *grant)
{
    const struct box_settings *settings = &box->settings;

    if (settings->max_sessions && box->session_count >= (unsigned)settings->max_sessions)
        return true;
    for (uint32_t i = 0; settings->max_sessions_per_gpu && i < grant->device_count; i++)
        if (grant->devices[i]->sessions >= (unsigned)settings->max_sessions_per_gpu)
            return true;
    return false;
}

// Tries once to serve a waiting client. May free it.
static void serve_queued(struct client *client)
{
    struct box *box = client->box;
    const char *objection;
    char text[400];

    if (has_expired(client))
        return;
    if (!box->devices_known) {
        if (warm_pool_is_broken(&box->probe))
            client_refuse(client, CONTROL_REFUSAL_WORKER, "its workers do not start: %s",
                          box->probe.last_error);
    } else if (!client->resolved &&
               admission_resolve(box, client->ticket, &client->grant, text, sizeof(text))) {
        client_refuse(client, CONTROL_REFUSAL_NO_DEVICE, "%s", text);
    } else if ((objection = broker_agent_objection(box, &client->grant))) {
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "%s", objection);
    } else if (broker_agent_delays(box, &client->grant) || suspension_delays(box, &client->grant) ||
               overcommit_delays(box, &client->grant)) {
        client->resolved = false; // after the wait it may get another GPU
    } else if (has_gpus_for_itself(client)) {
        client->resolved = true;
        struct box_device *device = client->grant.devices[0];
        struct worker_process *worker =
            worker_find_warm(box, device, waiting_device_set(client), client->grant.part);
        if (worker && !is_full(box, &client->grant))
            waiting_clients_hand_over(client, worker);
        else if (!worker && !device->pool.starting &&
                 (warm_pool_is_broken(&device->pool) ||
                  mps_is_broken(device, waiting_device_set(client))))
            client_refuse(client, CONTROL_REFUSAL_WORKER, "its workers do not start: %s",
                          device->pool.last_error);
    }
}

struct waiting_turn {
    struct client *client;
    unsigned place, begun; // position in the queue; recent sessions of its lease
};

static int compare_turns(const void *a, const void *b)
{
    const struct waiting_turn *one = a, *other = b;

    if (one->begun != other->begun)
        return one->begun < other->begun ? -1 : 1;
    return one->place < other->place ? -1 : one->place > other->place;
}

// Serves clients in turn: leases with the fewest recent sessions first, clients of one lease in
// order of arrival.
static void serve_in_turn(struct box *box)
{
    unsigned count = waiting_count(box), place = 0;
    SCOPED_FREE struct waiting_turn *turns = count ? calloc(count, sizeof(*turns)) : NULL;
    struct client *client = NULL;

    while (turns && (client = waiting_next(box, client))) {
        const char *lease = client->ticket ? client->ticket->lease : "";
        turns[place] =
            (struct waiting_turn){client, place, lease_turns_count(&box->lease_turns, lease)};
        place++;
    }
    if (place)
        qsort(turns, place, sizeof(*turns), compare_turns);
    for (unsigned i = 0; i < place; i++)
        serve_queued(turns[i].client);
}

void waiting_serve(struct box *box)
{
    struct client *client, *next;

    serve_in_turn(box);
    // Clients without a queue position get one here, and again at intervals.
    for (client = waiting_next(box, NULL); client; client = next) {
        next = waiting_next(box, client);
        if (!evtimer_pending(client->timer, NULL))
            waiting_tell(client);
    }
}

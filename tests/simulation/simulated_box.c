// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/simulated_box.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/rgpud/broker/broker_agent.h"
#include "tests/simulation/box_disk.h"
#include "tests/simulation/box_displaced.h"
#include "tests/simulation/exhaustive.h"
#include "tests/simulation/oracle.h"

enum { CLOCK_SKEW_SECONDS = 30, MAX_TICKET_SECONDS = 3600 };

struct simulated_box boxes[BOXES_MAX];
unsigned box_count;

struct simulated_box *box_with_name(const char *name)
{
    for (unsigned i = 0; i < box_count; i++)
        if (!strcmp(boxes[i].host.name, name))
            return &boxes[i];
    return NULL;
}

struct simulated_box *box_with_host(const struct host *host)
{
    for (unsigned i = 0; i < box_count; i++)
        if (&boxes[i].host == host)
            return &boxes[i];
    return NULL;
}

struct ticket_keyring box_keys(const struct simulated_box *box)
{
    struct ticket_keyring cluster = {.count = 1}, ring;

    strcpy(cluster.keys[0].id, "k1");
    memset(cluster.keys[0].secret, 7, sizeof(cluster.keys[0].secret));
    ticket_keyring_derive(&cluster, box->host.name, &ring);
    return ring;
}

static struct simulated_box *owner_of(const struct box *box)
{
    return box_with_name(box->name);
}

// ---- what the agent calls ----

static void on_review(void *argument)
{
    struct simulated_box *self = argument;

    self->review = NULL;
    broker_agent_review(self->box);
}

void box_changed(struct box *box)
{
    struct simulated_box *self = owner_of(box);

    if (self->box && !self->review)
        self->review = world_after(&self->host, 0, on_review, self);
}

static void worker_gone(void *argument)
{
    struct worker_process *worker = argument;
    struct box *box = worker->box;
    struct simulated_box *self = owner_of(box);

    if (self->stuck) {
        world_after(&self->host, SECOND, worker_gone, worker);
        return;
    }
    oracle_session_ended(self, (struct simulated_session *)worker);
    TAILQ_REMOVE(&box->workers, worker, link);
    free(worker);
    box_changed(box);
}

void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text)
{
    struct simulated_box *self = owner_of(worker->box);

    (void)reason;
    (void)text;
    worker->state = WORKER_ENDING;
    world_after(&self->host,
                dice_between(&self->dice, MS, dice_chance(&self->dice, 50) ? 8 * SECOND : 300 * MS),
                worker_gone, worker);
}

// ---- its life ----

static const char *const broker_name[] = {"broker:7310", NULL};

void box_start(void *argument)
{
    struct simulated_box *self = argument;
    struct box *box;

    if (self->host.up)
        return; // started again before its first start
    box = calloc(1, sizeof(*box));
    if (!box)
        abort();
    self->host.up = true;
    self->review = NULL;
    self->stuck = false;
    snprintf(box->name, sizeof(box->name), "%s", self->host.name);
    box->settings.broker = (char **)broker_name;
    box->settings.clock_skew = CLOCK_SKEW_SECONDS * 1000000;
    box->settings.max_ticket_lifetime = MAX_TICKET_SECONDS * UINT64_C(1000000);
    box->settings.state_dir = box_disk_directory(self);
    box->keys = box_keys(self);
    box->state = BOX_SERVING;
    box->devices_known = true;
    TAILQ_INIT(&box->workers);
    self->box = box;
    box_disk_lay_out(self);
    if (broker_agent_open(box))
        world_broken("box %s does not start", self->host.name);
    box_changed(box);
    world_trace("the box runs");
}

void box_crash(struct simulated_box *self, bool power)
{
    struct worker_process *worker, *next;

    if (!self->host.up)
        return;
    world_trace("box %s %s", self->host.name, power ? "loses power" : "is killed");
    self->host.up = false;
    self->host.life++;
    for (worker = TAILQ_FIRST(&self->box->workers); worker; worker = next) {
        next = TAILQ_NEXT(worker, link);
        oracle_session_ended(self, (struct simulated_session *)worker);
        free(worker);
    }
    box_displaced_died(self);
    free(self->box); // the agent's memory is lost
    self->box = NULL;
    self->review = NULL;
    if (!power)
        network_host_died(&self->host);
}

static jmp_buf process_end;

static void restart(void *argument)
{
    struct simulated_box *self = argument;

    world_after(&self->host, 0, box_start, self);
}

bool box_process_call(struct simulated_box *self, world_event *function, void *argument)
{
    struct host *before = world_host;
    bool lives = setjmp(process_end) == 0;

    world_host = &self->host;
    if (lives) {
        function(argument);
    } else {
        box_crash(self, false);
        world_after(NULL, dice_between(&self->dice, 100 * MS, 5 * SECOND), restart, self);
    }
    world_host = before;
    return lives;
}

void box_process_die(void)
{
    world_trace("the process ends by itself");
    longjmp(process_end, 1);
}

static void close_agent(void *argument)
{
    broker_agent_close(((struct simulated_box *)argument)->box);
}

void box_stop(struct simulated_box *self)
{
    if (self->host.up && box_process_call(self, close_agent, self))
        box_crash(self, false);
}

// ---- sessions ----

static struct ticket_check check_of(const struct simulated_box *self)
{
    return (struct ticket_check){.ring = &self->box->keys,
                                 .box = self->host.name,
                                 .now = host_wall_ns(&self->host) / SECOND,
                                 .skew = CLOCK_SKEW_SECONDS,
                                 .max_lifetime = MAX_TICKET_SECONDS};
}

static void grant_of(const struct ticket *ticket, struct session_grant *grant)
{
    snprintf(grant->lease, sizeof(grant->lease), "%s", ticket->lease);
    grant->epoch = ticket->epoch;
    grant->owner = (int64_t)ticket->owner;
}

bool box_would_accept(struct simulated_box *self, const struct ticket *ticket)
{
    static struct session_grant grant;
    struct ticket_check check;
    struct host *before = world_host;
    bool accepted;

    if (!self->host.up || box_is_suspended(self, ticket->lease))
        return false;
    check = check_of(self);
    if (ticket_check_use(&check, ticket))
        return false;
    world_host = &self->host;
    exhaustive_hold(true);
    grant_of(ticket, &grant);
    accepted = !broker_agent_objection(self->box, &grant) && box_disk_accepts(self, &grant);
    exhaustive_hold(false);
    world_host = before;
    return accepted;
}

// A box admits no second lease to a GPU that one lease has for itself.
static const char *conflict(const struct simulated_box *self, const struct ticket *ticket)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &self->box->workers, link)
        if (strcmp(worker->session.grant.lease, ticket->lease) &&
            !box_session_is_off(self, worker) &&
            oracle_tickets_exclude(self, &((const struct simulated_session *)worker)->ticket,
                                   ticket))
            return worker->session.grant.lease;
    return NULL;
}

static uint64_t admit(struct simulated_box *self, const struct ticket *ticket)
{
    struct simulated_session *session = calloc(1, sizeof(*session));
    struct worker_process *worker = &session->worker;

    if (!session)
        abort();
    session->ticket = *ticket;
    worker->box = self->box;
    worker->state = WORKER_SERVING;
    worker->session.id = ++self->box->next_session;
    worker->number = worker->session.id;
    grant_of(ticket, &worker->session.grant);
    TAILQ_INSERT_TAIL(&self->box->workers, worker, link);
    oracle_session_begun(self, session);
    return worker->session.id;
}

// Reads a ticket and has the agent note it. Returns 0 or the ticket's problem.
static int login(struct simulated_box *self, const char *token, size_t size, struct ticket *ticket)
{
    uint8_t secret[SHA256_SIZE];
    struct ticket_check check = check_of(self);
    int problem = ticket_recompute(&check, token, size, secret, ticket);
    char *text;

    if (!problem)
        problem = ticket_check_use(&check, ticket);
    if (problem)
        return problem;
    text = strndup(token, size);
    broker_agent_note(self->box, ticket, text);
    free(text);
    return 0;
}

static struct session_end open_session(struct simulated_box *self, const char *token, size_t size)
{
    static struct session_grant grant;
    static struct ticket ticket;
    const char *why;
    int problem;

    if (!self->host.up)
        return (struct session_end){.why = "the box is down", .again = true};
    if (self->box->state != BOX_SERVING)
        return (struct session_end){.why = "the box takes no sessions", .again = true};
    problem = login(self, token, size, &ticket);
    if (problem)
        return (struct session_end){.why = ticket_error(problem)};
    grant_of(&ticket, &grant);
    why = broker_agent_objection(self->box, &grant);
    if (why)
        return (struct session_end){.why = why};
    if (broker_agent_delays(self->box, &grant)) {
        box_changed(self->box);
        return (struct session_end){.why = "the broker is asked", .again = true};
    }
    if (box_is_suspended(self, grant.lease))
        return (struct session_end){.why = "the lease is suspended", .again = true};
    why = conflict(self, &ticket);
    if (why) {
        oracle_conflict(self, &ticket, why);
        return (struct session_end){.why = "another lease has the GPU", .again = true};
    }
    return (struct session_end){.number = admit(self, &ticket)};
}

struct opening {
    struct simulated_box *box;
    const char *token;
    size_t size;
    struct session_end end;
};

static void open_it(void *argument)
{
    struct opening *opening = argument;

    opening->end = open_session(opening->box, opening->token, opening->size);
}

struct session_end box_open_session(struct simulated_box *self, const char *token, size_t size)
{
    struct opening opening = {.box = self, .token = token, .size = size};

    exhaustive_point(&self->host, "a ticket", "", NULL);
    if (!box_process_call(self, open_it, &opening))
        return (struct session_end){.why = "the box ends", .again = true};
    return opening.end;
}

static struct worker_process *session_with(const struct simulated_box *self, uint64_t number)
{
    struct worker_process *worker;

    if (self->box)
        TAILQ_FOREACH(worker, &self->box->workers, link)
            if (worker->session.id == number)
                return worker;
    return NULL;
}

bool box_runs_session(const struct simulated_box *self, uint64_t number)
{
    return session_with(self, number) != NULL;
}

void box_close_session(struct simulated_box *self, uint64_t number)
{
    struct worker_process *worker = session_with(self, number);

    if (worker && worker->state != WORKER_ENDING)
        worker_end(worker, CONTROL_END_REASON_REVOKED, "closed");
}

// ---- setting up ----

static void set_up_box(struct simulated_box *self, unsigned number, uint64_t seed)
{
    static const char *const modes[] = {"exclusive", "shared", "auto"};
    char purpose[32];

    *self = (struct simulated_box){.number = number};
    snprintf(self->host.name, sizeof(self->host.name), "box%02u", number % 100);
    snprintf(purpose, sizeof(purpose), "box %u", number);
    self->dice = dice_of(seed, purpose);
    self->host.random = dice_of(dice_roll(&self->dice), "random");
    self->host.drift = (double)dice_between(&self->dice, -100, 100) * 1e-6;
    self->host.wall_offset = dice_between(&self->dice, -3 * SECOND, 3 * SECOND);
    snprintf(self->addresses, sizeof(self->addresses), "box%02u:7311", number % 100);
    self->link = (struct link){.dice = dice_of(dice_roll(&self->dice), "link"),
                               .least = MS / 10,
                               .most = 5 * MS};
    strcpy(self->link.name, self->host.name);
    self->caller = (struct caller){.host = &self->host,
                                   .link = &self->link,
                                   .who = {.known = true, .box = true}};
    strcpy(self->caller.who.box_name, self->host.name);
    snprintf(self->caller.who.name, sizeof(self->caller.who.name), "box box%02u", number % 100);
    self->gpu_count = (unsigned)dice_between(&self->dice, 1, BOX_GPUS_MAX);
    for (unsigned i = 0; i < self->gpu_count; i++) {
        struct simulated_gpu *gpu = &self->gpus[i];
        snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%02u-%u", number, i);
        gpu->memory = UINT64_C(80) << 30;
        gpu->mode = modes[dice_below(&self->dice, 3)];
    }
}

void boxes_set_up(uint64_t seed, unsigned count)
{
    box_count = count;
    for (unsigned i = 0; i < count; i++) {
        set_up_box(&boxes[i], i, seed);
        world_after(&boxes[i].host, dice_between(&boxes[i].dice, 0, 3 * SECOND), box_start,
                    &boxes[i]);
    }
}

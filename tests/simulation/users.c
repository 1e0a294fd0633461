// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulation/oracle.h"
#include "tests/simulation/user_requests.h"

enum { USERS_MAX = 500, LINES_MAX = 16, TRIES_MAX = 8 };

struct session {
    struct simulated_box *box;
    unsigned life; // of the box's process
    uint64_t number;
};

struct user {
    struct host host;
    struct link link;
    struct caller caller;
    struct dice dice;
    unsigned turn;
    char key[48], lease[48];
    json_t *request; // body of the acquire
    struct ticket_bundle bundle;
    struct session sessions[LINES_MAX];
    unsigned tries;
    int wait; // of the last query, in seconds
    bool busy, waits, abandons;
};

static struct user users[USERS_MAX];
static unsigned user_count;
static bool finishing, giving_up;
uint64_t users_leases, users_sessions;

static void acquire(void *argument);
static void poll_lease(void *argument);
static void get_ticket(void *argument);
static void open_sessions(void *argument);
static void release(void *argument);
static void release_by_key(struct user *self);
static void begin(void *argument);

static void later(struct user *self, int64_t least, int64_t most, world_event *step)
{
    world_after(&self->host, dice_between(&self->dice, least, most), step, self);
}

static void ask(struct user *self, const char *method, const char *target, const json_t *body,
                network_answered *answered)
{
    network_ask(&self->caller, method, target, body, 45 * SECOND, answered, self);
}

// Ends a turn, after which the user rests.
static void rest(struct user *self)
{
    json_decref(self->request);
    self->request = NULL;
    ticket_bundle_free(&self->bundle);
    memset(&self->bundle, 0, sizeof(self->bundle));
    self->busy = false;
    later(self, 100 * MS, 60 * SECOND, begin);
}

static const char *state_in(const json_t *answer)
{
    const char *state =
        json_string_value(json_object_get(json_object_get(answer, "lease"), "state"));

    return state ? state : "";
}

static bool is_final(int status)
{
    return status && status != 429 && status < 500;
}

// ---- getting a lease ----

static void take_bundle(struct user *self, const json_t *answer)
{
    const char *text = json_string_value(json_object_get(answer, "ticket"));

    if (!text || self->bundle.text || ticket_bundle_parse(text, strlen(text), &self->bundle))
        return;
    for (size_t i = 0; i < self->bundle.count; i++)
        oracle_ticket(&self->bundle.entries[i]);
}

static void on_acquired(void *argument, int status, const json_t *answer)
{
    struct user *self = argument;
    const char *id = json_string_value(json_object_get(json_object_get(answer, "lease"), "id"));

    if (!is_final(status)) {
        later(self, 200 * MS, 5 * SECOND, acquire);
        return;
    }
    if (status >= 300 || !id) {
        rest(self);
        return;
    }
    snprintf(self->lease, sizeof(self->lease), "%s", id);
    users_leases++;
    self->tries = 0;
    if (status == 202) {
        oracle_acknowledged(id, ACKED_QUEUED);
        later(self, MS, 3 * SECOND, poll_lease);
        return;
    }
    oracle_acknowledged(id, ACKED_GRANTED);
    take_bundle(self, answer);
    later(self, MS, SECOND, self->bundle.text ? open_sessions : get_ticket);
}

static void acquire(void *argument)
{
    struct user *self = argument;

    ask(self, "POST", "/v1/leases", self->request, on_acquired);
}

static void begin(void *argument)
{
    struct user *self = argument;

    if (finishing)
        return;
    self->busy = true;
    self->tries = 0;
    memset(self->sessions, 0, sizeof(self->sessions));
    snprintf(self->key, sizeof(self->key), "%s/%u", self->host.name, ++self->turn);
    self->request = user_request(&self->dice, self->key,
                                 self->caller.who.scheduler ? (int)self->caller.who.uid : -1);
    self->abandons = json_object_get(self->request, "lifetime") && dice_chance(&self->dice, 200);
    acquire(self);
}

static void on_polled(void *argument, int status, const json_t *answer)
{
    struct user *self = argument;
    const char *state = state_in(answer);

    self->waits &= status != 200 && status != 404;
    if (status == 404) {
        oracle_unknown(self->lease);
        rest(self);
    } else if (status != 200) {
        later(self, 200 * MS, 5 * SECOND, poll_lease);
    } else if (!strcmp(state, "queued")) {
        self->waits = true;
        if (giving_up || (!finishing && dice_chance(&self->dice, 50)))
            release(self);
        else
            later(self, 0, SECOND, poll_lease);
        return;
    } else if (!strcmp(state, "granted") || !strcmp(state, "lost")) {
        if (self->wait > 0)
            oracle_acknowledged(self->lease, ACKED_GRANTED);
        later(self, 0, SECOND, get_ticket);
    } else {
        rest(self);
    }
}

static void poll_lease(void *argument)
{
    struct user *self = argument;
    char target[96];

    // A query that does not wait may see what is not on disk yet.
    self->wait = dice_chance(&self->dice, 200) ? 0 : (int)dice_between(&self->dice, 1, 30);
    snprintf(target, sizeof(target), "/v1/leases/%s?wait=%d", self->lease, self->wait);
    ask(self, "GET", target, NULL, on_polled);
}

// ---- using it ----

static void on_ticket(void *argument, int status, const json_t *answer)
{
    struct user *self = argument;

    if (!is_final(status)) {
        later(self, 200 * MS, 5 * SECOND, get_ticket);
    } else if (status == 200) {
        take_bundle(self, answer);
        later(self, MS, 5 * SECOND, open_sessions);
    } else if (status == 409) {
        later(self, SECOND, 5 * SECOND, poll_lease); // a restored database has it as a waiting one
    } else {
        rest(self);
    }
}

static void get_ticket(void *argument)
{
    struct user *self = argument;
    json_t *body = json_pack("{s:s}", "lease", self->lease);

    if (dice_chance(&self->dice, 300))
        json_object_set_new(body, "lifetime", json_integer(dice_between(&self->dice, 30, 3600)));
    ask(self, "POST", "/v1/tickets", body, on_ticket);
    json_decref(body);
}

static void close_sessions(struct user *self)
{
    for (int i = 0; i < LINES_MAX; i++)
        if (self->sessions[i].number &&
            self->sessions[i].box->host.life == self->sessions[i].life) {
            world_host = &self->sessions[i].box->host;
            box_close_session(self->sessions[i].box, self->sessions[i].number);
        }
    world_host = &self->host;
    memset(self->sessions, 0, sizeof(self->sessions));
}

static void finish_use(void *argument)
{
    struct user *self = argument;

    if (self->abandons) {
        close_sessions(self);
        rest(self); // the lease runs out
        return;
    }
    if (dice_chance(&self->dice, 700))
        close_sessions(self);
    later(self, 0, dice_chance(&self->dice, 500) ? 0 : SECOND, release);
}

static bool open_one(struct user *self, size_t i)
{
    const struct ticket_entry *entry = &self->bundle.entries[i];
    char name[64];
    struct simulated_box *box;
    struct session_end end;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry->box, " "), entry->box);
    box = box_with_name(name);
    if (!box || self->sessions[i].number)
        return true;
    world_host = &box->host;
    end = box_open_session(box, entry->token, entry->public_size);
    world_host = &self->host;
    if (!end.number && !end.again)
        world_trace("box %s refuses lease %s: %s", name, self->lease, end.why);
    if (end.number)
        self->sessions[i] = (struct session){box, box->host.life, end.number};
    users_sessions += end.number != 0;
    return end.number || !end.again;
}

static void on_renewed(void *argument, int status, const json_t *answer)
{
    struct user *self = argument;

    (void)answer;
    if (status == 404)
        oracle_unknown(self->lease);
    later(self, 0, 30 * SECOND, finish_use);
}

// A lease that runs out may be renewed in time.
static void renew(void *argument)
{
    struct user *self = argument;
    json_t *body = json_pack("{s:I}", "lifetime", (json_int_t)dice_between(&self->dice, 5, 120));
    char target[96];

    snprintf(target, sizeof(target), "/v1/leases/%s/renew", self->lease);
    ask(self, "POST", target, body, on_renewed);
    json_decref(body);
}

static void open_sessions(void *argument)
{
    struct user *self = argument;
    bool all = true;

    for (size_t i = 0; i < self->bundle.count && i < LINES_MAX; i++)
        all &= open_one(self, i);
    if (!all && ++self->tries < TRIES_MAX)
        later(self, 100 * MS, 5 * SECOND, open_sessions);
    else if (dice_chance(&self->dice, 100))
        later(self, SECOND, 10 * MINUTE, finish_use);
    else
        later(self, 100 * MS, MINUTE,
              json_object_get(self->request, "lifetime") && dice_chance(&self->dice, 500)
                  ? renew
                  : finish_use);
}

// ---- giving it back ----

static void on_released(void *argument, int status, const json_t *answer)
{
    struct user *self = argument;

    (void)answer;
    if (!is_final(status)) {
        later(self, 200 * MS, 5 * SECOND, release);
        return;
    }
    if (status == 404)
        oracle_unknown(self->lease);
    else if (status == 200)
        oracle_acknowledged(self->lease, ACKED_RELEASED);
    close_sessions(self);
    rest(self);
}

static void release(void *argument)
{
    struct user *self = argument;
    char target[96];

    if (self->caller.who.scheduler && json_object_get(self->request, "key") &&
        dice_chance(&self->dice, 500)) {
        release_by_key(self);
        return;
    }
    snprintf(target, sizeof(target), "/v1/leases/%s", self->lease);
    ask(self, "DELETE", target, NULL, on_released);
}

static void release_by_key(struct user *self)
{
    json_t *body = json_pack("{s:s}", "key", self->key);

    ask(self, "POST", "/v1/leases/release", body, on_released);
    json_decref(body);
}

// ---- setting up ----

static void set_up_user(struct user *self, unsigned number, uint64_t seed)
{
    struct identity *who = &self->caller.who;
    char purpose[32];

    snprintf(self->host.name, sizeof(self->host.name), "user%03u", number);
    snprintf(purpose, sizeof(purpose), "user %u", number);
    self->dice = dice_of(seed, purpose);
    self->host.up = true;
    self->link = (struct link){.dice = dice_of(dice_roll(&self->dice), "link"),
                               .least = MS / 10,
                               .most = 20 * MS};
    strcpy(self->link.name, self->host.name);
    *who = (struct identity){.known = true, .local = true, .has_uid = true};
    who->uid = (uid_t)(1000 + number);
    who->scheduler = dice_chance(&self->dice, 300);
    snprintf(who->name, sizeof(who->name), "%s uid=%u", who->scheduler ? "scheduler" : "user",
             who->uid);
    self->caller.host = &self->host;
    self->caller.link = &self->link;
    later(self, 0, 30 * SECOND, begin);
}

void users_set_up(uint64_t seed, unsigned count)
{
    user_count = count < USERS_MAX ? count : USERS_MAX;
    for (unsigned i = 0; i < user_count; i++)
        set_up_user(&users[i], i, seed);
}

void users_finish(void)
{
    finishing = true;
}

void users_give_up(void)
{
    giving_up = true;
}

int users_busy(bool waiting)
{
    int busy = 0;

    for (unsigned i = 0; i < user_count; i++)
        busy += users[i].busy && (waiting || !users[i].waits);
    return busy;
}

struct link *users_link(uint64_t number)
{
    return &users[number % user_count].link;
}

void users_heal(void)
{
    for (unsigned i = 0; i < user_count; i++) {
        users[i].link.cut_there = users[i].link.cut_back = false;
        users[i].link.lost = 0;
        users[i].link.most = 20 * MS;
    }
}

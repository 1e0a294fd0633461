// SPDX-License-Identifier: BSD-3-Clause
// The lease, the lead, and what brokers report about themselves.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/replication/log_keys.h"
#include "broker/replication/replication.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"

// A lease of LEASE_SECONDS is the shortest that etcd gives with its default timing. The leader
// keeps its lead for GIVE_UP_SECONDS without an answer: no other broker can write meanwhile unless
// etcd has given the lead away, and a change is answered only after etcd has it.
enum { LEASE_SECONDS = 2, KEEP_MS = 500, GIVE_UP_SECONDS = 4, REPORT_TURNS = 4 };

static void note_reports(struct replication *self, double answered, json_t *status)
{
    SCOPED_LOCK(&self->lock);
    self->answered = answered;
    json_decref(self->status);
    self->status = status;
}

static bool is_leading(struct replication *self)
{
    return replication_term(self) > 0;
}

// ---- the lease ----

static bool grant_lease(struct replication *self)
{
    json_t *answer = etcd_call(self->keeper, "/v3/lease/grant",
                               json_pack("{s:i}", "TTL", LEASE_SECONDS), CALL_MS);
    SCOPED_LOCK(&self->lock);

    self->lease = answer ? etcd_number(answer, "ID") : 0;
    json_decref(answer);
    return self->lease != 0;
}

// Returns 1 if the lease lives, 0 if etcd has ended it, -1 if etcd does not answer.
static int keep_lease(struct replication *self)
{
    json_t *answer = etcd_call(self->keeper, "/v3/lease/keepalive",
                               json_pack("{s:I}", "ID", (json_int_t)self->lease), CALL_MS);
    int lives = answer ? etcd_number(json_object_get(answer, "result"), "TTL") > 0 : -1;

    json_decref(answer);
    return lives;
}

static json_t *range_of(const char *prefix)
{
    SCOPED_FREE char *end = strdup(prefix);

    if (end && *end)
        end[strlen(end) - 1]++;
    return json_pack("{s:{s:o, s:o}}", "request_range", "key", etcd_text(prefix), "range_end",
                     etcd_text(end ? end : ""));
}

static json_t *member_of(const json_t *pair)
{
    size_t size;
    SCOPED_FREE uint8_t *text = etcd_decode(json_object_get(pair, "value"), &size);

    return text ? json_loadb((const char *)text, size, 0, NULL) : NULL;
}

// Reads all brokers' reports of themselves, of which one says that it leads.
static json_t *read_members(const json_t *answer, size_t at)
{
    const json_t *pairs = json_object_get(log_response(answer, at), "kvs"), *pair;
    json_t *brokers = json_array();
    const char *leader = "";
    size_t i;

    json_array_foreach(pairs, i, pair) {
        json_t *member = member_of(pair);

        if (!strcmp(json_string_value(json_object_get(member, "role")) ?: "", "leading"))
            leader = json_string_value(json_object_get(member, "name")) ?: "";
        json_array_append_new(brokers, member ? member : json_object());
    }
    return json_pack("{s:s, s:o}", "leader", leader, "brokers", brokers);
}

// Returns the request that puts this broker's report under its lease.
static json_t *report_of(struct replication *self)
{
    SCOPED_FREE char *key = NULL, *value = NULL;
    json_t *report;

    {
        SCOPED_LOCK(&self->lock);
        report = json_pack("{s:s, s:s, s:I}", "name", self->name, "role",
                           self->term ? "leading" : "waiting", "position",
                           (json_int_t)self->position.number);
    }
    value = json_dumps(report, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(report);
    if (!value || asprintf(&key, KEY_MEMBERS "%s", self->name) < 0)
        return NULL;
    return json_pack("{s:{s:o, s:o, s:I}}", "request_put", "key", etcd_text(key), "value",
                     etcd_text(value), "lease", (json_int_t)self->lease);
}

// A report is a write, which etcd's disks would have beside each change, so few are made.
static bool is_report_due(struct replication *self)
{
    uint64_t term = replication_term(self);
    bool due = self->reported_lease != self->lease || self->reported_term != term ||
               self->turns++ % REPORT_TURNS == 0;

    self->reported_lease = self->lease;
    self->reported_term = term;
    return due;
}

// Reads all brokers' reports, for which etcd needs a majority, and makes one from time to time.
static void exchange_reports(struct replication *self)
{
    double asked = clock_boot_seconds();
    json_t *requests = json_array(), *answer;
    bool reports = is_report_due(self);

    if (reports)
        json_array_append_new(requests, report_of(self));
    json_array_append_new(requests, range_of(KEY_MEMBERS));
    answer =
        etcd_call(self->keeper, "/v3/kv/txn", json_pack("{s:o}", "success", requests), CALL_MS);
    if (answer)
        note_reports(self, asked, read_members(answer, reports));
    json_decref(answer);
}

static void check_silence(struct replication *self)
{
    bool had = self->had_majority, has = replication_has_majority(self);
    double silent;

    {
        SCOPED_LOCK(&self->lock);
        silent = clock_boot_seconds() - self->answered;
    }
    if (had && !has)
        log_error("no majority of etcd answers: nothing is granted error=\"%s\"",
                  etcd_error(self->keeper));
    if (!had && has)
        log_info("a majority of etcd answers");
    self->had_majority = has;
    if (silent > GIVE_UP_SECONDS && is_leading(self))
        lead_lost("no majority of etcd answers");
}

static void keep_up(struct replication *self)
{
    int lives = self->lease ? keep_lease(self) : grant_lease(self) ? 1 : -1;

    if (lives == 0 && is_leading(self))
        lead_lost("its lease in etcd has ended");
    if (lives == 0 && grant_lease(self))
        lives = 1;
    if (lives > 0)
        exchange_reports(self);
    check_silence(self);
}

static bool await_next_keep(struct replication *self)
{
    SCOPED_LOCK(&self->lock);
    if (!self->stop)
        clock_wait(&self->wake, &self->lock, KEEP_MS * 1000);
    return !self->stop;
}

static void *keep_leases(void *argument)
{
    struct replication *self = argument;

    do
        keep_up(self);
    while (await_next_keep(self));
    return NULL;
}

// ---- opening ----

// Returns HOST:PORT, which the caller frees, or NULL.
static char *own_name(char *const *listen)
{
    const char *port = *listen ? strrchr(*listen, ':') : NULL;
    char host[256] = "", *name;

    gethostname(host, sizeof(host) - 1);
    return asprintf(&name, "%s%s", host, port ? port : "") < 0 ? NULL : name;
}

int replication_open(const struct etcd_access *access, char *const *listen,
                     struct replication **out)
{
    struct replication *self = calloc(1, sizeof(*self));
    int error = self ? etcd_open(access, &self->keeper) : -ENOMEM;

    if (!error)
        error = etcd_open(access, &self->log);
    if (!error)
        error = etcd_open(access, &self->copier);
    if (!error) {
        pthread_mutex_init(&self->lock, NULL);
        pthread_cond_init(&self->wake, NULL);
        self->name = own_name(listen);
        self->answered = clock_boot_seconds();
        self->had_majority = true;
        error = self->name ? quiet_thread_start(&self->thread, keep_leases, self) : -ENOMEM;
    }
    if (error == -ENOTSUP)
        log_error("replication is set, but libcurl is missing");
    else if (error)
        log_error("replication does not start: %s", strerror(-error));
    if (error && self) {
        etcd_close(&self->copier);
        etcd_close(&self->log);
        etcd_close(&self->keeper);
        free(self->name);
        free(self);
    }
    if (!error)
        *out = self;
    return error;
}

void replication_close(struct replication **pointer)
{
    struct replication *self = *pointer;

    if (!self)
        return;
    {
        SCOPED_LOCK(&self->lock);
        self->stop = true;
        pthread_cond_signal(&self->wake);
    }
    pthread_join(self->thread, NULL);
    if (self->lease) // the keys go with it, so that another broker leads at once
        json_decref(etcd_call(self->keeper, "/v3/lease/revoke",
                              json_pack("{s:I}", "ID", (json_int_t)self->lease), CALL_MS));
    etcd_close(&self->copier);
    etcd_close(&self->log);
    etcd_close(&self->keeper);
    json_decref(self->status);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->lock);
    free(self->name);
    free(self);
    *pointer = NULL;
}

// ---- state ----

bool replication_has_majority(struct replication *self)
{
    SCOPED_LOCK(&self->lock);
    return clock_boot_seconds() - self->answered <= LEASE_SECONDS;
}

json_t *replication_status(struct replication *self)
{
    SCOPED_LOCK(&self->lock);
    json_t *status = json_pack("{s:s, s:I}", "role", self->term ? "leading" : "waiting", "position",
                               (json_int_t)self->position.number);

    if (self->status)
        json_object_update(status, self->status);
    return status;
}

void replication_note(struct replication *self, struct log_position position)
{
    SCOPED_LOCK(&self->lock);
    self->position = position;
}

uint64_t replication_term(struct replication *self)
{
    SCOPED_LOCK(&self->lock);
    return self->term;
}

int64_t replication_schema(const struct replication *self)
{
    return self->schema;
}

// Sets the term if the leader's key hangs on this broker's lease. An earlier request whose answer
// was lost may have put it there.
static void note_lead(struct replication *self, const json_t *answer, int64_t lease)
{
    const json_t *pair = json_array_get(json_object_get(log_response(answer, 0), "kvs"), 0);
    uint64_t term = 0;

    if (json_is_true(json_object_get(answer, "succeeded")))
        term = (uint64_t)etcd_number(json_object_get(answer, "header"), "revision");
    else if (pair && etcd_number(pair, "lease") == lease)
        term = (uint64_t)etcd_number(pair, "create_revision");
    SCOPED_LOCK(&self->lock);
    self->term = term;
}

bool replication_lead(struct replication *self)
{
    json_t *answer;
    int64_t lease;

    {
        SCOPED_LOCK(&self->lock);
        lease = self->lease;
    }
    if (!lease)
        return false;
    answer = etcd_call(self->log, "/v3/kv/txn",
                       json_pack("{s:[{s:o, s:s, s:s}], s:[{s:{s:o, s:o, s:I}}], s:[{s:{s:o}}]}",
                                 "compare", "key", etcd_text(KEY_LEADER), "target", "CREATE",
                                 "create_revision", "0", "success", "request_put", "key",
                                 etcd_text(KEY_LEADER), "value", etcd_text(self->name), "lease",
                                 (json_int_t)lease, "failure", "request_range", "key",
                                 etcd_text(KEY_LEADER)),
                       CALL_MS);
    note_lead(self, answer, lease);
    json_decref(answer);
    return self->term > 0;
}

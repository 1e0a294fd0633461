// SPDX-License-Identifier: BSD-3-Clause
// Outcomes of broker operations. A row gives the HTTP status and code of the answer, and its text
// if the operation gives no more precise one.
#ifndef RGPU_BROKER_OUTCOME_H
#define RGPU_BROKER_OUTCOME_H

// name, HTTP status, code, text
#define OUTCOMES(ROW) \
    ROW(OUTCOME_DONE, 200, "ok", "done") \
    /* the request */ \
    ROW(OUTCOME_BAD_REQUEST, 400, "bad-request", "the request makes no sense") \
    ROW(OUTCOME_BAD_JSON, 400, "bad-json", "the body is not a JSON object") \
    ROW(OUTCOME_TOO_LONG, 400, "bad-request", "nobody may have a ticket for so long") \
    ROW(OUTCOME_NO_JSON_TYPE, 415, "not-json", \
        "a body comes with \"Content-Type: application/json\"") \
    ROW(OUTCOME_NO_PATH, 404, "not-found", "there is no such path") \
    ROW(OUTCOME_NO_METHOD, 405, "method", "this path has no such method") \
    ROW(OUTCOME_NOT_FOUND, 404, "not-found", "there is nothing of this name") \
    /* who asks */ \
    ROW(OUTCOME_NO_HOST, 400, "bad-http", "the request has no Host") \
    ROW(OUTCOME_FOREIGN_HOST, 421, "foreign-host", \
        "the Host of the request is no name of this broker: ask by an address, by localhost, by " \
        "the host's name or by a name in the broker's listen") \
    ROW(OUTCOME_FOREIGN_SITE, 403, "foreign-site", \
        "the request comes from a page of another web site") \
    ROW(OUTCOME_UNAUTHORIZED, 401, "unauthorized", "the credentials are wrong") \
    ROW(OUTCOME_RESTARTED, 401, "restarted", "the credentials are from before the broker's start") \
    ROW(OUTCOME_FORBIDDEN, 403, "forbidden", "this is not for everybody") \
    ROW(OUTCOME_MUNGE_SILENT, 503, "munge-silent", "munged does not answer on the broker's host") \
    ROW(OUTCOME_TOO_FAST, 429, "too-fast", "requests come too fast") \
    ROW(OUTCOME_CROWDED, 503, "too-many-connections", \
        "one user or box may have a quarter of the broker's connections (max_connections)") \
    /* leases and tickets */ \
    ROW(OUTCOME_QUEUE_FULL, 429, "queue-full", "too many leases wait already") \
    ROW(OUTCOME_BUSY, 409, "busy", "no GPUs are free for this now (ask to queue, or later)") \
    ROW(OUTCOME_IMPOSSIBLE, 422, "impossible", \
        "no set of GPUs in this pool could ever satisfy the request") \
    ROW(OUTCOME_IMMOVABLE, 409, "immovable", "the lease cannot go to that GPU now") \
    ROW(OUTCOME_KEY_REUSED, 409, "key-reused", "the key was used for another request") \
    ROW(OUTCOME_NAME_TAKEN, 409, "name-taken", "another scheduler has this name") \
    ROW(OUTCOME_QUEUED, 409, "queued", "the lease still waits for GPUs") \
    ROW(OUTCOME_ENDED, 410, "ended", "the lease has ended") \
    ROW(OUTCOME_NO_KEY, 503, "no-key", "the broker has no cluster key and issues no tickets") \
    /* boxes */ \
    ROW(OUTCOME_TAKEN, 409, "taken", "a GPU is held or registered at another box") \
    ROW(OUTCOME_UNREGISTERED, 409, "register", "the box must register first") \
    ROW(OUTCOME_OVERTAKEN, 409, "overtaken", "the box has sent another report meanwhile") \
    ROW(OUTCOME_TOO_OFTEN, 429, "too-often", "the box registers too often") \
    ROW(OUTCOME_IN_USE, 409, "in-use", "a lease holds it; drain it first and wait") \
    ROW(OUTCOME_CONNECTED, 409, "connected", "the box is there and answers for itself") \
    /* the broker itself */ \
    ROW(OUTCOME_DISK_FULL, 503, "disk-full", \
        "the broker's disk is full; leases end, nothing else is changed") \
    ROW(OUTCOME_DISK_FAILED, 503, "disk-failed", \
        "the broker cannot write its database; its log says why") \
    ROW(OUTCOME_DISK_SILENT, 503, "disk-silent", \
        "the broker's disk does not answer; nobody is told of changes") \
    ROW(OUTCOME_DATABASE_BUSY, 503, "database-busy", \
        "another process holds the broker's database; nothing is changed") \
    ROW(OUTCOME_DATABASE_DAMAGED, 503, "database-damaged", \
        "the broker's database is damaged; it must be restored from a copy") \
    ROW(OUTCOME_DATABASE_REFUSES, 503, "failed", \
        "the change is against a rule of the database; the broker's log says which") \
    ROW(OUTCOME_NO_MAJORITY, 503, "no-majority", \
        "the broker reaches no majority of etcd's members; nothing is changed") \
    ROW(OUTCOME_WAITING, 503, "waiting", "another broker leads; this one waits to take over") \
    ROW(OUTCOME_NO_MEMORY, 503, "failed", "the broker has no memory left") \
    ROW(OUTCOME_FAILED, 503, "failed", "the change could not be made; the broker's log says why") \
    ROW(OUTCOME_STOPPING, 503, "stopping", "the broker stops")

#define OUTCOME_NAME_(name, status, code, text) name,
enum outcome { OUTCOMES(OUTCOME_NAME_) OUTCOME_COUNT };
#undef OUTCOME_NAME_

struct outcome_row {
    int status;
    const char *code, *text;
};
extern const struct outcome_row outcomes[];

// Converts 0 or -errno to an outcome.
enum outcome outcome_of(int error);

#endif

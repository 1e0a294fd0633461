// SPDX-License-Identifier: BSD-3-Clause
// Follows the log of another broker, so that a take-over has little left to read.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/replication/replication.h"
#include "broker/store/store.h"
#include "broker/store/store_changes.h"
#include "broker/store/store_sound.h"
#include "common/base/log.h"
#include "common/base/log_limit.h"
#include "common/base/scope.h"

enum { TIMEOUT_MS = 10000, POLL_US = 200000 };

// The log has what a power cut takes from a database that is not synced.
#define COPY_SETTINGS "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL"

// A full disk fails each attempt.
static struct log_limit failing = LOG_LIMIT(5, 60);

struct follower {
    const char *path;
    struct replication *replication;
    sqlite3 *database; // NULL: there is none
    struct log_position position;
    bool outdated; // the log is of a later release
};

enum follow_step { FOLLOW_ON, FOLLOW_AT_END, FOLLOW_ANEW };

static void close_copy(struct follower *self)
{
    sqlite3_close(self->database);
    self->database = NULL;
}

// Opens the database if there is one. If it is damaged or has no position, a snapshot replaces it.
static void open_copy(struct follower *self)
{
    self->position = (struct log_position){0};
    if (sqlite3_open_v2(self->path, &self->database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(self->database, TIMEOUT_MS) == SQLITE_OK &&
        sqlite3_exec(self->database, COPY_SETTINGS, NULL, NULL, NULL) == SQLITE_OK &&
        store_sound_check(self->database) == OUTCOME_DONE &&
        store_position(self->database, &self->position))
        return;
    close_copy(self);
}

// ---- entries ----

static bool apply_change(struct follower *self, const struct change_header *header,
                         const char *text)
{
    int before = sqlite3_total_changes(self->database);

    if (sqlite3_exec(self->database, text, NULL, NULL, NULL) != SQLITE_OK) {
        log_limited(&failing, LOG_LEVEL_ERROR, "database: a change of the log fails here: %s",
                    sqlite3_errmsg(self->database));
        return false;
    }
    if ((uint32_t)(sqlite3_total_changes(self->database) - before) == header->rows)
        return true;
    log_limited(&failing, LOG_LEVEL_ERROR, "database: change %s has another effect here", text);
    return false;
}

static bool apply_changes(struct follower *self, const struct log_entry *entry)
{
    struct change_header header;
    uint64_t number = entry->first;

    for (size_t at = 0; at < entry->size; at += sizeof(header) + header.size, number++) {
        memcpy(&header, entry->bytes + at, sizeof(header));
        if (header.size == 0 || header.size > entry->size - at - sizeof(header) ||
            entry->bytes[at + sizeof(header) + header.size - 1] != '\0')
            return false;
        if (number > self->position.number &&
            !apply_change(self, &header, (const char *)entry->bytes + at + sizeof(header)))
            return false;
    }
    return number == entry->last + 1;
}

static bool apply_entry(struct follower *self, const struct log_entry *entry)
{
    bool good = sqlite3_exec(self->database, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
                apply_changes(self, entry) &&
                sqlite3_exec(self->database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;

    if (!good) {
        sqlite3_exec(self->database, "ROLLBACK", NULL, NULL, NULL);
        return false;
    }
    self->position = (struct log_position){entry->last, entry->term};
    replication_note(self->replication, self->position);
    return true;
}

// Returns true if the database is an earlier state of the log's. It is not if this broker led and
// ended before the log had all of its changes.
static bool is_in_log(const struct follower *self, const struct log_news *news)
{
    const struct log_entry *entry = news->count ? &news->entries[0] : NULL;
    const struct log_position *at = &self->position, *head = &news->head.position;

    if (entry && entry->first <= at->number)
        return entry->term == at->term;
    if (!news->head.schema)
        return true;
    return self->database && at->number == head->number && at->term == head->term;
}

static enum follow_step follow_news(struct follower *self, const struct log_news *news)
{
    enum follow_step step = FOLLOW_AT_END;

    if (!is_in_log(self, news))
        return FOLLOW_ANEW;
    for (size_t i = 0; i < news->count; i++) {
        const struct log_entry *entry = &news->entries[i];

        if (entry->last <= self->position.number)
            continue;
        if (entry->first > self->position.number + 1 || !apply_entry(self, entry))
            return FOLLOW_ANEW;
        step = FOLLOW_ON;
    }
    return step == FOLLOW_AT_END && news->head.position.number > self->position.number ? FOLLOW_ANEW
                                                                                       : step;
}

// ---- snapshots ----

static int write_copy(const char *path, const uint8_t *bytes, size_t size)
{
    SCOPED_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    for (size_t done = 0; fd >= 0 && done < size;) {
        ssize_t count = write(fd, bytes + done, size - done);

        if (count < 0)
            return -errno;
        done += (size_t)count;
    }
    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

// Puts the snapshot in place of the database, which stays beside it as FILE.replaced.
static int replace_copy(struct follower *self, const uint8_t *bytes, size_t size)
{
    SCOPED_FREE char *fresh = NULL, *old = NULL, *log = NULL;
    int error;

    if (asprintf(&fresh, "%s.part", self->path) < 0 ||
        asprintf(&old, "%s.replaced", self->path) < 0 || asprintf(&log, "%s-wal", self->path) < 0)
        return -ENOMEM;
    error = write_copy(fresh, bytes, size);
    if (error)
        return error;
    close_copy(self); // moves the log into the database
    store_fold(self->path);
    if (rename(self->path, old) < 0 && errno != ENOENT)
        return -errno;
    if (unlink(log) < 0 && errno != ENOENT)
        return -errno;
    return rename(fresh, self->path) < 0 ? -errno : 0;
}

static int follow_anew(struct follower *self, const struct log_head *head)
{
    uint8_t *bytes = NULL;
    int error = head->schema ? replication_read_snapshot(self->replication, head, &bytes) : -EIO;

    if (error)
        return error;
    error = replace_copy(self, bytes, head->size);
    free(bytes);
    close_copy(self);
    open_copy(self);
    replication_note(self->replication, self->position);
    if (error)
        log_limited(&failing, LOG_LEVEL_ERROR, "%s: the snapshot is not written: %s", self->path,
                    strerror(-error));
    else
        log_info("the database is a snapshot of the log: position=%" PRIu64, self->position.number);
    return error;
}

// ---- following ----

static void note_release(struct follower *self, const struct log_head *head)
{
    bool outdated = head->schema > store_schema();

    if (outdated && !self->outdated)
        log_error("the brokers' log is of schema=%" PRId64 ", this program knows %" PRId64
                  ": it follows no more, and does not take over; upgrade it",
                  head->schema, store_schema());
    self->outdated = outdated;
}

// Returns true once this broker leads and has read all of the log. *PAUSE: nothing more is to do
// now.
static bool follow_once(struct follower *self, bool *pause)
{
    struct log_news news;
    enum follow_step step;
    bool leads = replication_term(self->replication) > 0;

    *pause = true;
    if (replication_read(self->replication, self->position, &news))
        return false;
    note_release(self, &news.head);
    step = self->outdated ? FOLLOW_AT_END : follow_news(self, &news);
    if (step == FOLLOW_ANEW)
        *pause = follow_anew(self, &news.head) != 0;
    else if (step == FOLLOW_ON)
        *pause = false;
    else if (!self->outdated && !leads && !news.has_leader)
        *pause = !replication_lead(self->replication);
    log_news_clear(&news);
    return step == FOLLOW_AT_END && leads;
}

bool store_follow(const char *path, struct replication *replication, const atomic_bool *stop)
{
    struct follower self = {.path = path, .replication = replication};
    bool leads = false, pause = false;

    open_copy(&self);
    replication_note(replication, self.position);
    while (!leads && !atomic_load(stop)) {
        leads = follow_once(&self, &pause);
        if (!leads && pause)
            usleep(POLL_US);
    }
    close_copy(&self);
    return leads;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "broker/store/store_changes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "broker/replication/replication.h"
#include "common/base/log.h"
#include "common/base/scope.h"

#define NEW_TABLE \
    "CREATE TABLE IF NOT EXISTS replication (id INTEGER PRIMARY KEY CHECK (id = 1)," \
    " number INTEGER NOT NULL, term INTEGER NOT NULL) STRICT;" \
    "INSERT OR IGNORE INTO replication VALUES (1, 0, 0)"

static bool execute(sqlite3 *database, const char *sql)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    log_error("database: %s: %s", sql, sqlite3_errmsg(database));
    return false;
}

// ---- any database ----

static bool read_row(sqlite3 *database, const char *sql, int64_t *first, int64_t *second)
{
    sqlite3_stmt *row;
    bool found;

    if (sqlite3_prepare_v2(database, sql, -1, &row, NULL) != SQLITE_OK)
        return false;
    found = sqlite3_step(row) == SQLITE_ROW;
    if (found)
        *first = sqlite3_column_int64(row, 0);
    if (found && second)
        *second = sqlite3_column_int64(row, 1);
    sqlite3_finalize(row);
    return found;
}

bool store_position(sqlite3 *database, struct log_position *position)
{
    int64_t number, term;

    if (!read_row(database, "SELECT number, term FROM replication", &number, &term))
        return false;
    *position = (struct log_position){(uint64_t)number, (uint64_t)term};
    return true;
}

uint8_t *store_serialize(sqlite3 *database, struct log_head *head)
{
    sqlite3_int64 size = 0;
    uint8_t *bytes = NULL;

    if (!execute(database, "BEGIN"))
        return NULL;
    if (store_position(database, &head->position) &&
        read_row(database, "PRAGMA user_version", &head->schema, NULL))
        bytes = sqlite3_serialize(database, "main", &size, 0);
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    head->size = (uint64_t)size;
    if (!bytes)
        log_error("database: no snapshot: %s", sqlite3_errmsg(database));
    return bytes;
}

// ---- opening ----

static bool set_position(sqlite3 *database, const struct log_position *position, char **sql)
{
    return asprintf(sql, "UPDATE replication SET number = %" PRIu64 ", term = %" PRIu64,
                    position->number, position->term) > 0 &&
           execute(database, *sql);
}

// Other brokers cannot follow a change of the schema: they read the database anew.
static bool publish(sqlite3 *database, struct store_changes *self)
{
    SCOPED_FREE char *sql = NULL;
    struct log_head head;
    uint8_t *bytes;

    self->position.number++;
    if (!set_position(database, &self->position, &sql))
        return false;
    bytes = store_serialize(database, &head);
    if (!bytes)
        return false;
    replication_write_snapshot(self->replication, &head, bytes);
    sqlite3_free(bytes);
    return true;
}

enum outcome store_changes_open(sqlite3 *database, struct replication *replication,
                                struct store_changes **out)
{
    struct store_changes *self = calloc(1, sizeof(*self));
    int64_t schema;
    bool good;

    if (!self)
        return OUTCOME_NO_MEMORY;
    self->replication = replication;
    good = execute(database, NEW_TABLE) && store_position(database, &self->position) &&
           read_row(database, "PRAGMA user_version", &schema, NULL);
    self->position.term = replication_term(replication);
    if (good && !replication_schema(replication) && self->position.number)
        log_warn("etcd has no log: this broker's database begins a new one");
    if (good && schema != replication_schema(replication))
        good = publish(database, self);
    if (good) {
        replication_note(replication, self->position);
        *out = self;
        return OUTCOME_DONE;
    }
    store_changes_free(&self);
    return OUTCOME_FAILED;
}

void store_changes_free(struct store_changes **pointer)
{
    if (!*pointer)
        return;
    store_changes_drop(*pointer);
    free((*pointer)->pending.bytes);
    free(*pointer);
    *pointer = NULL;
}

// ---- a transaction ----

void store_changes_drop(struct store_changes *self)
{
    if (!self || !self->text)
        return;
    fclose(self->text);
    free(self->bytes);
    self->text = NULL;
    self->bytes = NULL;
}

void store_changes_begin(struct store_changes *self, sqlite3 *database)
{
    const struct change_header none = {0};

    if (!self)
        return;
    store_changes_drop(self);
    self->text = open_memstream(&self->bytes, &self->size);
    if (self->text)
        fwrite(&none, sizeof(none), 1, self->text);
    self->rows_before = sqlite3_total_changes(database);
}

void store_changes_add(struct store_changes *self, sqlite3_stmt *statement)
{
    char *sql = self && self->text ? sqlite3_expanded_sql(statement) : NULL;

    if (self && self->text && !sql)
        store_changes_drop(self); // out of memory: the transaction will not be committed
    if (sql)
        fprintf(self->text, "%s;\n", sql);
    sqlite3_free(sql);
}

enum outcome store_changes_end(struct store_changes *self, sqlite3 *database)
{
    const struct log_position next = {self ? self->position.number + 1 : 0,
                                      self ? self->position.term : 0};
    SCOPED_FREE char *sql = NULL;
    struct change_header header;

    if (!self)
        return OUTCOME_DONE;
    if (!self->text || !set_position(database, &next, &sql))
        return OUTCOME_FAILED;
    fputs(sql, self->text);
    fputc('\0', self->text);
    if (fflush(self->text) || ferror(self->text))
        return OUTCOME_NO_MEMORY;
    if (self->size > replication_entry_max()) {
        log_error("database: a change of %zu bytes is larger than an entry of the log may be",
                  self->size);
        return OUTCOME_FAILED;
    }
    header = (struct change_header){.size = (uint32_t)(self->size - sizeof(header)),
                                    .rows = (uint32_t)(sqlite3_total_changes(database) -
                                                       self->rows_before)};
    memcpy(self->bytes, &header, sizeof(header));
    return OUTCOME_DONE;
}

// ---- committed changes ----

int store_changes_commit(struct store_changes *self)
{
    struct log_entry *pending = &self->pending;
    uint8_t *bytes = self->text ? realloc(pending->bytes, pending->size + self->size) : NULL;

    if (!bytes)
        return -ENOMEM;
    memcpy(bytes + pending->size, self->bytes, self->size);
    pending->bytes = bytes;
    pending->size += self->size;
    self->position.number++;
    pending->last = self->position.number;
    if (!pending->first)
        pending->first = pending->last;
    store_changes_drop(self);
    return 0;
}

// Returns the size of the changes that fit in one entry, and how many these are.
static size_t fitting(const struct log_entry *pending, int *count)
{
    struct change_header header;
    size_t size = 0, next;

    for (*count = 0; size < pending->size; (*count)++) {
        memcpy(&header, pending->bytes + size, sizeof(header));
        next = size + sizeof(header) + header.size;
        if (next > replication_entry_max())
            break;
        size = next;
    }
    return size;
}

int store_changes_take(struct store_changes *self, struct log_entry *entry)
{
    struct log_entry *pending = &self->pending;
    int count;
    size_t size = fitting(pending, &count);
    uint8_t *bytes = malloc(size ? size : 1);

    if (!bytes)
        return -ENOMEM;
    memcpy(bytes, pending->bytes, size);
    *entry = (struct log_entry){.first = pending->first,
                                .last = pending->first + (uint64_t)count - 1,
                                .bytes = bytes,
                                .size = size};
    memmove(pending->bytes, pending->bytes + size, pending->size - size);
    pending->size -= size;
    pending->first = pending->size ? entry->last + 1 : 0;
    return count;
}

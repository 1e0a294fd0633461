// SPDX-License-Identifier: BSD-3-Clause
// The log and its snapshots in etcd. An entry's key is the number of its last change, so that a
// search from a position finds the entry that contains it first. A snapshot is larger than one
// request to etcd may be: it is written in pieces, and its head, which names them, comes last.
#include "broker/replication/replicated_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/replication/etcd.h"
#include "broker/replication/log_keys.h"
#include "common/base/log.h"
#include "common/base/scope.h"

enum { PIECE_SIZE = 1 << 20, READ_MOST = 16, PIECE_MS = 5000, RETRY_US = 50000 };

struct entry_header {
    uint64_t first, term; // in this machine's order of bytes, as all brokers of a site
};

static json_t *log_key(const char *prefix, uint64_t number)
{
    char key[64];

    snprintf(key, sizeof(key), "%s%020" PRIu64, prefix, number);
    return etcd_text(key);
}

static const json_t *first_pair(const json_t *answer, size_t number)
{
    return json_array_get(json_object_get(log_response(answer, number), "kvs"), 0);
}

// ---- reading ----

static bool decode_entry(const json_t *pair, struct log_entry *entry)
{
    struct entry_header header;
    size_t size, key_size;
    SCOPED_FREE uint8_t *key = etcd_decode(json_object_get(pair, "key"), &key_size);
    uint8_t *bytes = etcd_decode(json_object_get(pair, "value"), &size);

    if (!key || !bytes || size < sizeof(header) || key_size <= strlen(KEY_LOG)) {
        free(bytes);
        return false;
    }
    memcpy(&header, bytes, sizeof(header));
    size -= sizeof(header);
    memmove(bytes, bytes + sizeof(header), size);
    *entry = (struct log_entry){.first = header.first,
                                .last = strtoull((char *)key + strlen(KEY_LOG), NULL, 10),
                                .term = header.term,
                                .bytes = bytes,
                                .size = size};
    return true;
}

static bool decode_head(const json_t *pair, struct log_head *head)
{
    size_t size;
    SCOPED_FREE uint8_t *text = etcd_decode(json_object_get(pair, "value"), &size);
    json_t *object = text ? json_loadb((char *)text, size, 0, NULL) : NULL;

    *head = (struct log_head){
        .position = {.number = (uint64_t)etcd_number(object, "number"),
                     .term = (uint64_t)etcd_number(object, "term")},
        .schema = etcd_number(object, "schema"),
        .size = (uint64_t)etcd_number(object, "size"),
    };
    json_decref(object);
    return !pair || head->schema > 0;
}

static bool read_news(struct replication *self, const json_t *answer, struct log_news *news)
{
    const json_t *pairs = json_object_get(log_response(answer, 0), "kvs");
    const json_t *leader = first_pair(answer, 1);
    size_t count = json_array_size(pairs);

    if (!json_is_true(json_object_get(answer, "succeeded")) ||
        !decode_head(first_pair(answer, 2), &news->head))
        return false;
    {
        SCOPED_LOCK(&self->lock);
        news->has_leader = leader && etcd_number(leader, "lease") != self->lease;
    }
    news->entries = calloc(count ? count : 1, sizeof(*news->entries));
    while (news->entries && news->count < count) {
        if (!decode_entry(json_array_get(pairs, news->count), &news->entries[news->count]))
            return false;
        news->count++;
    }
    return news->entries != NULL;
}

int replication_read(struct replication *self, struct log_position from, struct log_news *news)
{
    json_t *answer;
    bool good;

    *news = (struct log_news){0};
    answer =
        etcd_call(self->log, "/v3/kv/txn",
                  json_pack("{s:[{s:{s:o, s:o, s:i}}, {s:{s:o}}, {s:{s:o}}]}", "success",
                            "request_range", "key", log_key(KEY_LOG, from.number), "range_end",
                            etcd_text(KEY_LOG "~"), "limit", READ_MOST, "request_range", "key",
                            etcd_text(KEY_LEADER), "request_range", "key", etcd_text(KEY_SNAPSHOT)),
                  PIECE_MS);
    good = answer && read_news(self, answer, news);
    json_decref(answer);
    if (good)
        self->schema = news->head.schema;
    else
        log_news_clear(news);
    return good ? 0 : -EIO;
}

void log_news_clear(struct log_news *news)
{
    for (size_t i = 0; i < news->count; i++)
        free(news->entries[i].bytes);
    free(news->entries);
    *news = (struct log_news){0};
}

// Pieces are named after the snapshot's position, so that those of two snapshots are not mixed.
static json_t *piece_key(const struct log_head *head, uint64_t number)
{
    char key[128];

    snprintf(key, sizeof(key), KEY_PIECES "%020" PRIu64 "/%" PRIu64 "/%010" PRIu64,
             head->position.number, head->position.term, number);
    return etcd_text(key);
}

static int read_piece(struct replication *self, const struct log_head *head, uint64_t offset,
                      uint8_t *to)
{
    uint64_t wanted = head->size - offset < PIECE_SIZE ? head->size - offset : PIECE_SIZE;
    json_t *answer = etcd_call(self->log, "/v3/kv/range",
                               json_pack("{s:o}", "key", piece_key(head, offset / PIECE_SIZE)),
                               PIECE_MS);
    size_t size = 0;
    SCOPED_FREE uint8_t *bytes =
        etcd_decode(json_object_get(json_array_get(json_object_get(answer, "kvs"), 0), "value"),
                    &size);
    int error = !answer ? -EIO : !bytes || size != wanted ? -EAGAIN : 0;

    if (!error)
        memcpy(to, bytes, size);
    json_decref(answer);
    return error;
}

int replication_read_snapshot(struct replication *self, const struct log_head *head, uint8_t **out)
{
    uint8_t *bytes = malloc(head->size ? head->size : 1);
    int error = bytes ? 0 : -ENOMEM;

    for (uint64_t offset = 0; !error && offset < head->size; offset += PIECE_SIZE)
        error = read_piece(self, head, offset, bytes + offset);
    if (error)
        free(bytes);
    else
        *out = bytes;
    return error;
}

// ---- writing ----

static json_t *if_leading(struct replication *self)
{
    char term[32];

    snprintf(term, sizeof(term), "%" PRIu64, self->term);
    return json_pack("{s:o, s:s, s:s}", "key", etcd_text(KEY_LEADER), "target", "CREATE",
                     "create_revision", term);
}

static json_t *put_of(json_t *key, json_t *value)
{
    return json_pack("{s:{s:o, s:o}}", "request_put", "key", key, "value", value);
}

static json_t *delete_before(const char *prefix, uint64_t number)
{
    return json_pack("{s:{s:o, s:o}}", "request_delete_range", "key", etcd_text(prefix),
                     "range_end", log_key(prefix, number));
}

// Repeats a transaction until etcd answers. Only the thread that keeps the lease gives up.
static json_t *insist(struct etcd *etcd, json_t *transaction, long timeout_ms)
{
    json_t *answer;

    if (!transaction)
        lead_lost("memory is exhausted");
    while (!(answer = etcd_call(etcd, "/v3/kv/txn", json_incref(transaction), timeout_ms)))
        usleep(RETRY_US);
    json_decref(transaction);
    return answer;
}

// An attempt whose answer was lost may have written the entry: then the next one finds it.
static bool was_written(struct replication *self, const json_t *answer)
{
    return etcd_number(first_pair(answer, 0), "create_revision") == (int64_t)self->term &&
           first_pair(answer, 1);
}

void replication_append(struct replication *self, const struct log_entry *entry)
{
    const struct entry_header header = {.first = entry->first, .term = self->term};
    SCOPED_FREE uint8_t *value = malloc(sizeof(header) + entry->size);
    json_t *answer;

    if (!value)
        lead_lost("memory is exhausted");
    memcpy(value, &header, sizeof(header));
    memcpy(value + sizeof(header), entry->bytes, entry->size);
    answer =
        insist(self->log,
               json_pack("{s:[o, {s:o, s:s, s:s}], s:[o], s:[{s:{s:o}}, {s:{s:o, s:b}}]}",
                         "compare", if_leading(self), "key", log_key(KEY_LOG, entry->last),
                         "target", "CREATE", "create_revision", "0", "success",
                         put_of(log_key(KEY_LOG, entry->last),
                                etcd_bytes(value, sizeof(header) + entry->size)),
                         "failure", "request_range", "key", etcd_text(KEY_LEADER), "request_range",
                         "key", log_key(KEY_LOG, entry->last), "keys_only", 1),
               CALL_MS);
    if (!json_is_true(json_object_get(answer, "succeeded")) && !was_written(self, answer))
        lead_lost("another broker leads");
    json_decref(answer);
    SCOPED_LOCK(&self->lock);
    self->position = (struct log_position){entry->last, self->term};
}

size_t replication_entry_max(void)
{
    return PIECE_SIZE;
}

static void write_if_leading(struct replication *self, json_t *changes)
{
    json_t *answer =
        insist(self->copier,
               json_pack("{s:[o], s:o}", "compare", if_leading(self), "success", changes),
               PIECE_MS);

    if (!json_is_true(json_object_get(answer, "succeeded")))
        lead_lost("another broker leads");
    json_decref(answer);
}

// Returns the number at which the present snapshot was made.
static uint64_t present_snapshot(struct replication *self)
{
    json_t *answer = insist(self->copier,
                            json_pack("{s:[{s:{s:o}}]}", "success", "request_range", "key",
                                      etcd_text(KEY_SNAPSHOT)),
                            CALL_MS);
    struct log_head head;
    bool good = decode_head(first_pair(answer, 0), &head);

    json_decref(answer);
    return good ? head.position.number : 0;
}

void replication_write_snapshot(struct replication *self, const struct log_head *head,
                                const uint8_t *bytes)
{
    uint64_t before = present_snapshot(self);
    SCOPED_FREE char *text = NULL;

    for (uint64_t offset = 0; offset < head->size; offset += PIECE_SIZE) {
        size_t size = head->size - offset < PIECE_SIZE ? head->size - offset : PIECE_SIZE;
        write_if_leading(self, json_pack("[o]", put_of(piece_key(head, offset / PIECE_SIZE),
                                                       etcd_bytes(bytes + offset, size))));
    }
    if (asprintf(&text,
                 "{\"number\":%" PRIu64 ",\"term\":%" PRIu64 ",\"schema\":%" PRId64
                 ",\"size\":%" PRIu64 "}",
                 head->position.number, head->position.term, head->schema, head->size) < 0)
        lead_lost("memory is exhausted");
    write_if_leading(self, json_pack("[o, o, o]", put_of(etcd_text(KEY_SNAPSHOT), etcd_text(text)),
                                     delete_before(KEY_PIECES, head->position.number),
                                     delete_before(KEY_LOG, before)));
    log_info("snapshot of the database is in etcd: position=%" PRIu64 " bytes=%" PRIu64,
             head->position.number, head->size);
}

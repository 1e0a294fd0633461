// SPDX-License-Identifier: BSD-3-Clause
// While the peer confirms what it gets before the next record is written, as with calls that are
// awaited, the same few bytes of one chunk are used again and again and stay in the cache.
#include "transport/tcp/tcp_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"

static struct tcp_log_part *tcp_log_part_at(const struct tcp_log *log, unsigned index)
{
    return &log->parts[(log->first + index) & (log->room - 1)]; // a power of two
}

// ---- chunks ----

static struct tcp_log_chunk *chunk_new(struct tcp_log *log, size_t size)
{
    struct tcp_log_chunk *chunk = log->spares;

    if (chunk && size <= TCP_LOG_CHUNK) {
        log->spares = chunk->next;
        log->spare_count--;
        return chunk;
    }
    if (size < TCP_LOG_CHUNK)
        size = TCP_LOG_CHUNK;
    // Cleared, so that bytes that the caller does not write disclose no memory of this process to
    // the peer.
    chunk = calloc(1, sizeof(*chunk) + size);
    if (chunk)
        chunk->room = size;
    return chunk;
}

static void chunk_release(struct tcp_log *log, struct tcp_log_chunk *chunk)
{
    chunk->used = 0;
    if (chunk == log->open)
        return;
    if (chunk->room != TCP_LOG_CHUNK || log->spare_count == TCP_LOG_SPARES) {
        free(chunk);
        return;
    }
    chunk->next = log->spares;
    log->spares = chunk;
    log->spare_count++;
}

static void close_open(struct tcp_log *log)
{
    struct tcp_log_chunk *chunk = log->open;

    log->open = NULL;
    if (chunk && !chunk->parts)
        chunk_release(log, chunk);
}

// ---- parts ----

static bool grow(struct tcp_log *log)
{
    unsigned room = log->room ? 2 * log->room : 64;
    struct tcp_log_part *parts = malloc(room * sizeof(*parts));

    if (!parts)
        return false;
    for (unsigned i = 0; i < log->count; i++)
        parts[i] = *tcp_log_part_at(log, i);
    free(log->parts);
    log->parts = parts;
    log->first = 0;
    log->room = room;
    return true;
}

static struct tcp_log_part *part_new(struct tcp_log *log)
{
    if (log->count == log->room && !grow(log))
        return NULL;
    return tcp_log_part_at(log, log->count++);
}

static void tcp_log_drop_first(struct tcp_log *log, size_t length)
{
    struct tcp_log_part *part = tcp_log_part_at(log, 0);

    log->begin += length;
    *(part->chunk ? &log->kept : &log->borrowed) -= length;
    if (length < part->length) {
        if (!log->at)
            log->at_begin += length;
        part->at += length;
        part->length -= length;
        return;
    }
    // `next` may be at the end of this part, which is the beginning of the next one.
    if (log->at)
        log->at--;
    else
        log->at_begin += length;
    if (part->chunk && !--part->chunk->parts)
        chunk_release(log, part->chunk);
    log->first = (log->first + 1) & (log->room - 1);
    log->count--;
}

void tcp_log_drop(struct tcp_log *log, uint64_t position)
{
    if (position > log->next)
        position = log->next;
    while (log->begin < position) {
        uint64_t left = position - log->begin;
        size_t length = tcp_log_part_at(log, 0)->length;
        tcp_log_drop_first(log, left < length ? (size_t)left : length);
    }
}

// ---- adding ----

void *tcp_log_reserve_anew(struct tcp_log *log, size_t size)
{
    RGPU_ASSERT(size <= TCP_LOG_RECORDS);
    if (log->open && log->open->used + size > TCP_LOG_RECORDS)
        close_open(log);
    if (!log->open)
        log->open = chunk_new(log, size);
    // tcp_log_add() cannot fail.
    if (!log->open || (log->count == log->room && !grow(log)))
        return NULL;
    return log->open->bytes + log->open->used;
}

void tcp_log_begin_part(struct tcp_log *log)
{
    uint8_t *at = log->open->bytes + log->open->used;

    *part_new(log) = (struct tcp_log_part){.at = at, .chunk = log->open};
    log->open->parts++;
}

int tcp_log_borrow(struct tcp_log *log, void *bytes, size_t size)
{
    if (!size)
        return 0;
    struct tcp_log_part *part = part_new(log);
    if (!part)
        return -ENOMEM;
    *part = (struct tcp_log_part){.at = bytes, .length = size};
    log->end += size;
    log->borrowed += size;
    return 0;
}

static bool own_part(struct tcp_log *log, struct tcp_log_part *part)
{
    struct tcp_log_chunk *chunk = chunk_new(log, part->length);

    if (!chunk)
        return false;
    memcpy(chunk->bytes, part->at, part->length);
    chunk->used = part->length;
    chunk->parts = 1;
    part->at = chunk->bytes;
    part->chunk = chunk;
    log->borrowed -= part->length;
    log->kept += part->length;
    return true;
}

static void drop_excess(struct tcp_log *log)
{
    while (log->kept > TCP_LOG_KEPT_MAX && log->begin < log->next)
        tcp_log_drop(log, log->begin + tcp_log_part_at(log, 0)->length);
}

void tcp_log_own(struct tcp_log *log, uint64_t until)
{
    uint64_t position = log->begin;

    for (unsigned i = 0; log->borrowed && i < log->count && position < until; i++) {
        struct tcp_log_part *part = tcp_log_part_at(log, i);
        position += part->length;
        if (!part->chunk && !own_part(log, part)) {
            tcp_log_drop(log, position);
            i = UINT32_MAX; // the next part is the first one
        }
    }
    drop_excess(log);
}

// ---- sending ----

int tcp_log_take(const struct tcp_log *log, struct iovec *out, int room)
{
    size_t skip = (size_t)(log->next - log->at_begin);
    int taken = 0;

    for (unsigned i = log->at; i < log->count && taken < room; i++, skip = 0) {
        const struct tcp_log_part *part = tcp_log_part_at(log, i);
        if (part->length > skip)
            out[taken++] =
                (struct iovec){.iov_base = part->at + skip, .iov_len = part->length - skip};
        else
            RGPU_ASSERT(part->length == skip);
    }
    return taken;
}

// Moves `at` to the part that contains `next`; at the end of the log it stays at the last part,
// which may grow.
static void tcp_log_find_next(struct tcp_log *log)
{
    while (log->at + 1 < log->count &&
           log->next - log->at_begin >= tcp_log_part_at(log, log->at)->length) {
        log->at_begin += tcp_log_part_at(log, log->at)->length;
        log->at++;
    }
}

size_t tcp_log_sent(struct tcp_log *log, size_t size)
{
    uint64_t before = log->furthest;

    log->next += size;
    if (log->next > before)
        log->furthest = log->next;
    tcp_log_find_next(log);
    if (!log->keeps)
        tcp_log_drop(log, log->next);
    else if (log->kept > TCP_LOG_KEPT_MAX)
        drop_excess(log);
    return (size_t)(log->furthest - before);
}

bool tcp_log_rewind(struct tcp_log *log, uint64_t position)
{
    if (position < log->begin || position > log->furthest)
        return false;
    log->next = log->begin;
    log->at = 0;
    log->at_begin = log->begin;
    log->next = position;
    tcp_log_find_next(log);
    tcp_log_drop(log, position);
    return true;
}

void tcp_log_free(struct tcp_log *log)
{
    while (log->count)
        tcp_log_drop_first(log, tcp_log_part_at(log, 0)->length);
    close_open(log);
    for (struct tcp_log_chunk *chunk = log->spares, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(log->parts);
    *log = (struct tcp_log){0};
}

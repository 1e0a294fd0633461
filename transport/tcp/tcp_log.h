// SPDX-License-Identifier: BSD-3-Clause
// The bytes that one side sends on a tcp connection, in order: records, which are written into
// chunks of the log, and payloads, which stay in the caller's memory. Positions count bytes from
// the beginning of the session.
//
//            begin          next             end
//   dropped  | sent         | to be sent     |
//
// Sent bytes are dropped at once, or, if the log keeps them, after the peer has confirmed them, so
// that they can be sent again over another connection. The caller serializes all calls.
#ifndef RGPU_TRANSPORT_TCP_LOG_H
#define RGPU_TRANSPORT_TCP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    TCP_LOG_CHUNK = 512 * 1024,  // holds a copied block
    TCP_LOG_RECORDS = 80 * 1024, // of a chunk at most, so that few pages are in use
    TCP_LOG_SPARES = 8,          // unused chunks that the log holds
    TCP_LOG_KEPT_MAX = 64 << 20, // of sent bytes in chunks; beyond it the oldest are dropped
};

struct tcp_log_chunk {
    struct tcp_log_chunk *next; // spare chunks
    size_t room, used;
    unsigned parts; // number of parts in this chunk
    uint8_t bytes[];
};

struct tcp_log_part {
    uint8_t *at;
    size_t length;
    struct tcp_log_chunk *chunk; // NULL: the caller's memory
};

struct tcp_log {
    bool keeps;
    uint64_t begin, next, end;
    uint64_t furthest; // the most that was ever sent
    // A ring of parts; the first one begins at `begin`.
    struct tcp_log_part *parts;
    unsigned first, count, room;
    // The part that contains `next`, and the position of its beginning.
    unsigned at;
    uint64_t at_begin;
    struct tcp_log_chunk *open, *spares; // records are added to `open`
    unsigned spare_count;
    size_t kept;     // bytes in chunks
    size_t borrowed; // bytes in the caller's memory
};

void *tcp_log_reserve_anew(struct tcp_log *log, size_t size);
void tcp_log_begin_part(struct tcp_log *log);

// Returns memory for SIZE bytes, at most TCP_LOG_RECORDS, which tcp_log_add() adds; NULL if there
// is none.
static inline void *tcp_log_reserve(struct tcp_log *log, size_t size)
{
    struct tcp_log_chunk *open = log->open;

    if (!open || open->used + size > TCP_LOG_RECORDS || log->count == log->room)
        return tcp_log_reserve_anew(log, size);
    return open->bytes + open->used;
}

static inline void tcp_log_add(struct tcp_log *log, size_t size)
{
    struct tcp_log_chunk *open = log->open;
    uint8_t *at = open->bytes + open->used;
    struct tcp_log_part *last = &log->parts[(log->first + log->count - 1) & (log->room - 1)];

    if (!log->count || last->chunk != open || last->at + last->length != at) {
        tcp_log_begin_part(log);
        last = &log->parts[(log->first + log->count - 1) & (log->room - 1)];
    }
    last->length += size;
    open->used += size;
    log->end += size;
    log->kept += size;
}
// Adds bytes that stay where they are until they are dropped or tcp_log_own() has copied them.
// Returns 0 or -ENOMEM.
int tcp_log_borrow(struct tcp_log *log, void *bytes, size_t size);
// Copies what is not dropped yet of the bytes that were borrowed before the position UNTIL. All of
// them have been sent. If there is no memory for that, they are dropped.
void tcp_log_own(struct tcp_log *log, uint64_t until);

static inline size_t tcp_log_unsent(const struct tcp_log *log)
{
    return (size_t)(log->end - log->next);
}

// Stores the next bytes to be sent, at most ROOM pieces. Returns the number of pieces.
int tcp_log_take(const struct tcp_log *log, struct iovec *out, int room);
// Marks SIZE bytes more as sent. Returns the number of bytes that were sent for the first time.
size_t tcp_log_sent(struct tcp_log *log, size_t size);
// Drops sent bytes before POSITION.
void tcp_log_drop(struct tcp_log *log, uint64_t position);
// The bytes from POSITION on must be sent again; earlier ones are dropped. Returns false if the log
// does not have them or has not sent them.
bool tcp_log_rewind(struct tcp_log *log, uint64_t position);
void tcp_log_free(struct tcp_log *log);

#endif

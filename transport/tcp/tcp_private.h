// SPDX-License-Identifier: BSD-3-Clause
// State of a tcp link.
//
// The size of a record, its first word, has more in it over tcp:
//
//   bits  0-2    number of extra connections that have parts of the record's payload (tcp_extra.h)
//         3-16   size of the record
//        17-31   if the link survives its connection: bytes, in eights, that the sender of the
//                record has received and not acknowledged yet
//
// If it does, a record of size 0 is not one of the protocol's: its second word is the number of
// eights that were received on the connection whose number is in bits 0-2, or TCP_GOODBYE.
#ifndef RGPU_TRANSPORT_TCP_PRIVATE_H
#define RGPU_TRANSPORT_TCP_PRIVATE_H

#include "common/base/wait.h"
#include "transport/link/gather_guess.h"
#include "transport/link/link_private.h"
#include "transport/tcp/tcp_extra.h"
#include "transport/tcp/tcp_opening.h"
#include "transport/tcp/tcp_reconnect.h"
#include "transport/tcp/tcp_stream.h"

enum {
    TCP_WORD_ACK_SHIFT = 17,
    TCP_WORD_ACK_LIMIT = 1 << 15, // eights that fit into a word
    TCP_ACK_UNIT = 8,
    TCP_ACK_BYTES = 8,
};
_Static_assert(WIRE_RECORD_MAX < 1 << TCP_WORD_ACK_SHIFT, "sizes and eights do not overlap");

struct tcp_link {
    struct link base;
    struct tcp_stream own; // over the connection of the session
    int interrupt;         // event file
    struct tcp_extra extra;
    struct tcp_opening *opening; // of extra connections; NULL: none is planned

    // The sender's; under own.lock, which is held from reserve to commit.
    uint32_t reserved;
    bool flusher_runs;
    bool flusher_sleeps; // wake it for a record that must not wait
    bool flusher_rests;  // and for held records too, so that it checks them now and then
    bool urgent;         // gathered records are not held
    struct gather_guess guess;
    uint64_t commits, takes; // how often a record was added, and all were taken
    bool ending;
    size_t crowd; // bytes in the log from which link_wants_reading()
    bool watched; // a thread notices the end of the connection
    pthread_cond_t work;
    pthread_t flusher;

    uint8_t *buffer; // the receiver's
    size_t start, end;
    size_t read_size;
    unsigned used; // extra connections that have parts of the payload of the last record
    bool bulky;    // a payload was received since the last acknowledgement
    struct spin_habit habit;
    _Atomic bool whole; // a whole record is in buffer
    _Atomic bool receiver_sleeps;
    _Atomic bool interrupted;
};

static inline struct tcp_stream *tcp_stream_at(struct tcp_link *tcp, unsigned number)
{
    return number ? &tcp->extra.list[number - 1].stream : &tcp->own;
}

#endif

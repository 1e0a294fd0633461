// SPDX-License-Identifier: BSD-3-Clause
// The log of sent bytes gives again exactly what was put into it, from any place that the peer has
// not confirmed, also after the memory of payloads has changed.
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "transport/tcp/tcp_log.h"

enum { ROUNDS = 20000, PAYLOAD_MAX = 600 * 1024, STREAM_MAX = 1 << 26 };

static struct tcp_log tested = {.keeps = true};
static uint8_t *payload;   // the caller's memory
static uint64_t confirmed; // by the peer
static uint64_t unsettled; // the end of the last payload that is still the caller's; 0: none
static uint64_t wrong;

// The byte that belongs at POSITION.
static uint8_t byte_at(uint64_t position)
{
    return (uint8_t)(position * 2654435761u >> 13);
}

static void fill(uint8_t *to, uint64_t position, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = byte_at(position + i);
}

static void add_record(void)
{
    size_t size = 8 * (size_t)(1 + rand() % (rand() % 20 ? 20 : 9000));
    void *at = tcp_log_reserve(&tested, size);

    if (!at)
        bail("no memory");
    fill(at, tested.end, size);
    tcp_log_add(&tested, size);
}

static void send_some(size_t most)
{
    struct iovec pieces[4];
    uint64_t position = tested.next;
    int count = tcp_log_take(&tested, pieces, 4);
    size_t sent = 0;

    for (int i = 0; i < count && sent < most; i++)
        for (size_t k = 0; k < pieces[i].iov_len && sent < most; k++, sent++)
            wrong += ((uint8_t *)pieces[i].iov_base)[k] != byte_at(position + sent);
    tcp_log_sent(&tested, sent);
}

static void settle(void)
{
    tcp_log_own(&tested, unsettled);
    memset(payload, 0x55, PAYLOAD_MAX);
    unsettled = 0;
}

static void add_payload(void)
{
    size_t size = 1 + (size_t)rand() % PAYLOAD_MAX;

    if (unsettled)
        settle();
    fill(payload, tested.end, size);
    if (tcp_log_borrow(&tested, payload, size))
        bail("no memory");
    unsettled = tested.end;
}

// The peer has received a part of what was sent, and nothing after it.
static void reconnect(void)
{
    uint64_t span = tested.furthest - confirmed;

    confirmed += span ? (uint64_t)rand() % (span + 1) : 0;
    if (!tcp_log_rewind(&tested, confirmed))
        wrong++;
}

int main(void)
{
    payload = malloc(PAYLOAD_MAX);
    srand(1);
    for (int round = 0; round < ROUNDS && tested.end < STREAM_MAX; round++) {
        switch (rand() % 16) {
        case 0: add_payload(); break;
        case 1: reconnect(); break;
        case 2: confirmed += (tested.next - confirmed) / 2; break;
        case 3: tcp_log_drop(&tested, confirmed); break;
        case 4: settle(); break;
        case 5:
        case 6:
        case 7: send_some((size_t)rand() % (1 << 20)); break;
        default: add_record();
        }
    }
    reconnect();
    while (tcp_log_unsent(&tested))
        send_some(1 << 20);
    is_int((long long)wrong, 0, "%llu MiB are sent, and sent again, as they were",
           (unsigned long long)tested.end >> 20);
    ok(!tcp_log_rewind(&tested, tested.end + 1), "it does not go on beyond its end");
    tcp_log_drop(&tested, tested.end);
    ok(!tested.count && !tested.kept && !tested.borrowed, "confirmed bytes are dropped");
    ok(!tcp_log_rewind(&tested, tested.end - 1), "and cannot be sent again");
    tcp_log_free(&tested);
    free(payload);
    return done();
}

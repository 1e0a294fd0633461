// SPDX-License-Identifier: BSD-3-Clause
// A sender whose peer does not receive waits, with a bounded amount under way, and goes on where it
// was; both directions may be full at once.
#include "tests/transport/pairs.h"

enum { MORE = 2000, LIMIT = 64 << 20 };

struct stream {
    struct waiter waiter;
    _Atomic uint32_t sent;
};

// Records of changing sizes, so that the end of a ring falls anywhere.
static void send_stream(struct waiter *waiter)
{
    struct stream *stream = (struct stream *)waiter;
    uint32_t turn;

    for (turn = 0; send_value(waiter->link, 8 + turn * 136 % 60000 / 8 * 8, turn); turn++)
        atomic_store(&stream->sent, turn + 1);
}

static bool is_full(struct stream *stream)
{
    double deadline = seconds_now() + 20;
    uint32_t before;

    do {
        before = atomic_load(&stream->sent);
        if (!waiter_await_sleep(&stream->waiter))
            return false;
    } while (atomic_load(&stream->sent) != before && seconds_now() < deadline);
    return true;
}

static bool drain(struct link *link, uint32_t count)
{
    for (uint32_t turn = 0; turn < count; turn++)
        if (receive_value(link, 20000) != turn)
            return false;
    return true;
}

static void check(const struct pair_kind *kind)
{
    struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 1};
    struct pair pair = pair_open(kind, &options);
    struct stream out = {0}, in = {0};
    uint64_t sent, received;

    waiter_start(&out.waiter, send_stream, pair.client);
    waiter_start(&in.waiter, send_stream, pair.worker);
    ok(is_full(&out) && is_full(&in), "%s: both senders sleep when nobody receives", kind->name);
    link_bytes(pair.client, &sent, &received);
    ok(sent > 0 && sent < LIMIT && received == 0, "%s: what is under way is bounded", kind->name);
    ok(drain(pair.worker, atomic_load(&out.sent) + MORE),
       "%s: what had to wait arrives in order, at the worker", kind->name);
    ok(drain(pair.client, atomic_load(&in.sent) + MORE),
       "%s: what had to wait arrives in order, at the client", kind->name);
    link_shutdown(pair.client);
    link_shutdown(pair.worker);
    waiter_join(&out.waiter);
    waiter_join(&in.waiter);
    pair_close(&pair);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++)
        check(&pair_kinds[i]);
    return done();
}

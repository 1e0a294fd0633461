// SPDX-License-Identifier: BSD-3-Clause
// Tests that records followed by others or by a flush leave together, counted in messages, not
// timed. A record without a flush arrives, too.
#include "common/base/scope.h"
#include "tests/transport/pairs.h"
#include "transport/rdma/rdma_private.h"

enum { SMALL = 64, BURST = 200, ROW = 20, PAIRS_MAX = 4000 };

static uint32_t next_value, next_expected;

static bool commit(struct link *link, bool flush)
{
    uint32_t *record = link_reserve(link, SMALL);

    if (!record)
        return false;
    record[1] = ++next_value;
    if (flush)
        return link_commit_flush(link) == 0;
    link_commit(link);
    return true;
}

static bool receive(struct link *link, int count)
{
    for (int i = 0; i < count; i++)
        if (receive_value(link, 20000) != ++next_expected)
            return false;
    return true;
}

// A message may have arrived before the thread that has sent it counts it.
static uint64_t messages(struct link *link)
{
    SCOPED_LOCK(&rdma_of(link)->post_lock);
    return rdma_of(link)->messages;
}

// Launch and synchronization, until the link has seen often enough that one follows the other.
static bool learn(struct pair *pair)
{
    const struct gather_guess *gather = &rdma_of(pair->client)->gather.guess;

    for (int turn = 0; turn < 20000 && gather->hits < gather->wanted; turn++)
        if (!commit(pair->client, false) || !commit(pair->client, true) ||
            !receive(pair->worker, 2))
            return false;
    return gather->hits >= gather->wanted;
}

static void check_pairs(struct pair *pair)
{
    unsigned row = 0;
    bool arrived = true;

    for (int i = 0; i < PAIRS_MAX && row < ROW && arrived; i++) {
        uint64_t before = messages(pair->client);
        arrived = commit(pair->client, false) && commit(pair->client, true) &&
                  receive(pair->worker, 2);
        row = messages(pair->client) - before == 1 ? row + 1 : 0;
    }
    ok(arrived, "a record and the one that is flushed after it arrive in order");
    is_int((int)row, ROW, "as one message, %d times in a row", ROW);
}

static void check_burst(struct pair *pair)
{
    uint64_t before = messages(pair->client);
    bool sent = true;

    for (int i = 1; i < BURST && sent; i++)
        sent = commit(pair->client, false);
    ok(sent && commit(pair->client, true), "many records are committed, the last one flushed");
    uint64_t taken = messages(pair->client) - before;
    ok(taken <= BURST / 4, "%u records leave in %u messages", BURST, (unsigned)taken);
    ok(receive(pair->worker, BURST), "and arrive in order");
}

static void check_flush(struct pair *pair)
{
    struct rdma_link *client = rdma_of(pair->client);

    ok(commit(pair->client, false) && link_flush(pair->client) == 0 &&
           atomic_load(&client->left) == atomic_load(&client->produced) && receive(pair->worker, 1),
       "a flush lets the record that waits leave");
}

// Commits a record that waits for the next one. If this thread lost its processor after learn(),
// the link has forgotten the pattern, so it is learned again.
static bool commit_one_that_waits(struct pair *pair)
{
    for (int turn = 0; turn < 100; turn++) {
        if (!learn(pair))
            return false;
        uint64_t before = messages(pair->client);
        if (!commit(pair->client, false))
            return false;
        if (messages(pair->client) == before)
            return true;
        if (!receive(pair->worker, 1))
            return false;
    }
    return false;
}

static void check_nobody_flushes(struct pair *pair)
{
    struct gather_guess *gather = &rdma_of(pair->client)->gather.guess;
    uint32_t wanted = gather->wanted;

    ok(commit_one_that_waits(pair) && receive(pair->worker, 1),
       "a record that waits in vain for the next arrives without further calls");
    uint64_t before = messages(pair->client);
    ok(commit(pair->client, false) && messages(pair->client) == before + 1,
       "after which a record leaves by itself at once");
    ok(gather->wanted > wanted, "and it takes more to let records wait again");
    ok(receive(pair->worker, 1), "it arrives");
}

static void check_receives(struct pair *pair)
{
    struct rdma_link *worker = rdma_of(pair->worker);
    bool arrived = true;

    for (int i = 0; i < 3 * RDMA_RECEIVES && arrived; i++)
        arrived = commit(pair->client, true) && receive(pair->worker, 1);
    ok(arrived && worker->unposted < RDMA_REPOST,
       "receives are posted again in portions: %u are not", worker->unposted);
    ok(atomic_load(&worker->receives) - atomic_load(&worker->receives_reported) < RDMA_RECEIVES,
       "and the peer is told of them");
}

int main(void)
{
    struct link_options options = {.spin_us = 5, .block_size = 4096, .block_count = 1};
    struct pair pair = pair_open(pair_kind_named("rdma"), &options);

    ok(learn(&pair), "that a flush follows a record is learned");
    check_pairs(&pair);
    ok(learn(&pair), "that records follow each other");
    check_burst(&pair);
    learn(&pair);
    check_flush(&pair);
    ok(learn(&pair), "records wait");
    check_nobody_flushes(&pair);
    check_receives(&pair);
    pair_close(&pair);
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Tests windows that are full in both directions at once: both ends send until they must wait,
// while neither receives. Everything arrives in order when they receive.
#include "tests/transport/pairs.h"

enum { RECORDS = 6000 };

struct end {
    pthread_t sender, receiver;
    struct link *link;
    uint32_t size;
    bool flushes;
    _Atomic uint32_t sent;
    uint32_t received;
};

static void *send_main(void *argument)
{
    struct end *end = argument;

    for (uint32_t i = 1; i <= RECORDS; i++) {
        uint32_t *record = link_reserve(end->link, end->size);
        if (!record)
            break;
        record[1] = i;
        if (end->flushes)
            link_commit_flush(end->link);
        else
            link_commit(end->link);
        atomic_store(&end->sent, i);
    }
    return NULL;
}

static void *receive_main(void *argument)
{
    struct end *end = argument;

    while (end->received < RECORDS && receive_value(end->link, 20000) == end->received + 1)
        end->received++;
    return NULL;
}

// Until neither end gets on.
static void await_quiesce(struct end ends[2])
{
    uint32_t before[2] = {UINT32_MAX, UINT32_MAX};
    int quiet = 0;

    while (quiet < 20) {
        bool same = ends[0].sent == before[0] && ends[1].sent == before[1];
        quiet = same ? quiet + 1 : 0;
        before[0] = ends[0].sent;
        before[1] = ends[1].sent;
        poll(NULL, 0, 10);
    }
}

// Records of SIZE bytes exhaust receives where they are small and each is flushed, the ring where
// they are large or gather.
static void check(uint32_t size, bool flushes)
{
    struct link_options options = {.spin_us = 5, .block_size = 4096, .block_count = 1};
    struct pair pair = pair_open(pair_kind_named("rdma"), &options);
    struct end ends[2] = {{.link = pair.worker, .size = size, .flushes = flushes},
                          {.link = pair.client, .size = size, .flushes = flushes}};
    const char *how = flushes ? "flushed" : "that gather";

    for (int i = 0; i < 2; i++)
        pthread_create(&ends[i].sender, NULL, send_main, &ends[i]);
    await_quiesce(ends);
    ok(ends[0].sent < RECORDS && ends[1].sent < RECORDS && ends[0].sent && ends[1].sent,
       "records of %u bytes %s: both senders wait, after %u and %u", size, how, ends[0].sent,
       ends[1].sent);
    for (int i = 0; i < 2; i++)
        pthread_create(&ends[i].receiver, NULL, receive_main, &ends[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(ends[i].receiver, NULL);
        pthread_join(ends[i].sender, NULL);
    }
    is_int(ends[0].received, RECORDS, "records of %u bytes %s: all arrive in order at the worker",
           size, how);
    is_int(ends[1].received, RECORDS, "records of %u bytes %s: and at the client", size, how);
    ok(!*link_error(pair.worker) && !*link_error(pair.client), "the link is up");
    pair_close(&pair);
}

int main(void)
{
    check(256, true);
    check(16384, true);
    check(256, false);
    check(16384, false);
    return done();
}

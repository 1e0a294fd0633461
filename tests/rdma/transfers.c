// SPDX-License-Identifier: BSD-3-Clause
// The worker reads and writes memory that the client exposes, while the client does nothing, and
// may sleep meanwhile; and no other memory.
#include "tests/transport/pairs.h"

enum { SIZE = 1 << 20, MANY = 200, HOUR_US = 3600u * 1000000 };

static const struct link_options options = {.spin_us = 5, .block_size = SIZE, .block_count = 2};

// Carries one transfer out; its cookie or NULL.
static void *transfer(struct link *worker, bool write, void *local, uint32_t size,
                      const void *remote, uint32_t key)
{
    struct link_transfer wanted = {.write = write,
                                   .local = local,
                                   .size = size,
                                   .remote = (uintptr_t)remote,
                                   .key = key,
                                   .cookie = local};
    double deadline = seconds_now() + 10;
    void *cookie = NULL;
    int done = link_transfer_start(worker, &wanted);

    while (!done && seconds_now() < deadline)
        done = link_transfer_poll(worker, &cookie, 1);
    return done == 1 ? cookie : NULL;
}

static void check_contents(const struct pair *pair)
{
    const struct link_staging *blocks = shm_memory_staging(pair->staging);
    uint8_t *local = (uint8_t *)blocks->base + blocks->blocks_offset, *other = local + SIZE;
    uint8_t *memory = malloc(SIZE + 8192);
    uint32_t key = 0, again = 0, word = 77;

    fill_bytes(memory, SIZE + 8192, 5);
    is_int(link_expose(pair->client, memory + 100, SIZE, &key), 0,
           "memory of any place is exposed");
    ok(transfer(pair->worker, false, local, SIZE, memory + 100, key) == local &&
           !memcmp(local, memory + 100, SIZE),
       "the worker reads it");
    fill_bytes(other, SIZE, 9);
    ok(transfer(pair->worker, true, other, SIZE, memory + 100, key) == other &&
           !memcmp(other, memory + 100, SIZE),
       "and writes it");
    ok(transfer(pair->worker, true, &word, sizeof(word), memory + 104, key) == &word &&
           !memcmp(memory + 104, &word, 4),
       "a word may come from anywhere");
    is_int(link_expose(pair->client, memory + 4096, 100, &again), 0,
           "a part of it is exposed again");
    is_int(again, key, "which registers nothing new");
    link_conceal(pair->client, memory + 100, SIZE);
    ok(transfer(pair->worker, false, local, 100, memory + 4096, key) == local,
       "it is reached until it is concealed as often as it was exposed");
    link_conceal(pair->client, memory + 4096, 100);
    ok(!transfer(pair->worker, false, local, 100, memory + 4096, key), "and then no longer");
    ok(strstr(link_error(pair->worker), "a transfer failed"), "which ends the link");
    free(memory);
}

static void check_order(const struct pair *pair)
{
    const struct link_staging *blocks = shm_memory_staging(pair->staging);
    uint8_t *local = (uint8_t *)blocks->base + blocks->blocks_offset;
    const struct link_staging *theirs = link_staging(pair->client);
    uint32_t key;
    unsigned started = 0, ended = 0;
    bool full = false, ordered = true;

    is_int(link_expose_staging(pair->client, &key), 0,
           "the client's blocks are exposed from the start");
    while (ended < MANY) {
        struct link_transfer wanted = {.write = started % 2,
                                       .local = local + started * 512,
                                       .size = 512,
                                       .key = key,
                                       .remote = (uintptr_t)theirs->base + theirs->blocks_offset +
                                                 started * 512,
                                       .cookie = local + started};
        void *cookies[8];
        int r = started < MANY ? link_transfer_start(pair->worker, &wanted) : -EAGAIN;
        if (!r) {
            started++;
            continue;
        }
        full |= r == -EAGAIN && started < MANY;
        r = link_transfer_poll(pair->worker, cookies, 8);
        if (r < 0)
            break;
        for (int i = 0; i < r; i++)
            ordered &= cookies[i] == local + ended++;
    }
    ok(full, "more than the queue holds are to be asked for later");
    ok(ordered && ended == MANY, "operations end in their order");
}

// As who waits an hour would not see, were it not woken.
static void check_waiting(const struct pair *pair)
{
    const struct link_staging *blocks = shm_memory_staging(pair->staging);
    uint8_t *local = (uint8_t *)blocks->base + blocks->blocks_offset;
    const struct link_staging *theirs = link_staging(pair->client);
    struct link_transfer wanted = {.write = true,
                                   .local = local,
                                   .size = SIZE,
                                   .remote = (uintptr_t)theirs->base + theirs->blocks_offset,
                                   .cookie = local};
    void *cookie;
    int ended = 0, r = link_expose_staging(pair->client, &wanted.key);

    for (int i = 0; i < MANY && !r; i++) {
        int count = 0;
        r = link_transfer_start(pair->worker, &wanted);
        while (!r && !count) {
            count = link_transfer_poll(pair->worker, &cookie, 1);
            if (!count)
                r = link_transfer_wait(pair->worker, HOUR_US);
        }
        ended += count;
    }
    is_int(ended, MANY, "who sleeps until a transfer is over is woken by its end");
    // The first wait may return at once.
    for (int i = 0; i < 2 && !r; i++) {
        link_transfer_wake(pair->worker);
        r = link_transfer_wait(pair->worker, HOUR_US);
    }
    is_int(r, 0, "and by whoever wants it to look at something else");
}

int main(void)
{
    struct pair pair = pair_open(pair_kind_named("rdma"), &options);

    ok(link_memory(pair.worker) == LINK_MEMORY_REACHED, "memory is reached, not shared");
    check_order(&pair);
    check_waiting(&pair);
    check_contents(&pair);
    pair_close(&pair);
    return done();
}

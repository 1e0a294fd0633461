// SPDX-License-Identifier: BSD-3-Clause
// Transfers name memory of the worker that it has registered for them, at any offset, and no other;
// a dma-buf that is none is refused.
#include "tests/transport/pairs.h"

enum { SIZE = 3 << 20, PIECES = 64 };

static const struct link_options options = {.spin_us = 5, .block_size = 65536, .block_count = 4};

static struct link_registered *registered;

static bool carry(const struct pair *pair, bool write, void *local, uint32_t size, uint64_t remote,
                  uint32_t key)
{
    struct link_transfer wanted = {.write = write,
                                   .local = local,
                                   .registered = registered,
                                   .size = size,
                                   .remote = remote,
                                   .key = key,
                                   .cookie = local};
    double deadline = seconds_now() + 10;
    void *cookie = NULL;
    int done = link_transfer_start(pair->worker, &wanted);

    while (!done && seconds_now() < deadline)
        done = link_transfer_poll(pair->worker, &cookie, 1);
    return done == 1 && cookie == local;
}

static uint8_t *memory_of(size_t size, uint8_t seed)
{
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        bail("no memory");
    fill_bytes(memory, size, seed);
    return memory;
}

static void check_pieces(const struct pair *pair, uint8_t *mine, uint8_t *theirs, uint32_t key)
{
    bool right = true;

    for (uint32_t i = 0; i < PIECES; i++) {
        uint32_t at = i * 4099 + i, size = 1 + i * 37, from = i * 8191 + 3;
        right &= carry(pair, false, mine + at, size, (uintptr_t)theirs + from, key) &&
                 !memcmp(mine + at, theirs + from, size);
        right &= carry(pair, true, mine + from, size, (uintptr_t)theirs + at, key) &&
                 !memcmp(theirs + at, mine + from, size);
    }
    ok(right, "pieces of any size and place pass in both directions");
}

int main(void)
{
    struct pair pair = pair_open(pair_kind_named("rdma"), &options);
    uint8_t *theirs = memory_of(SIZE, 3), *mine = memory_of(SIZE, 7);
    struct link_local whole = {.base = mine + 100, .size = SIZE - 200, .dmabuf = -1};
    uint32_t key = 0;
    int file = memfd_create("no dma-buf", MFD_CLOEXEC);

    is_int(link_expose(pair.client, theirs, SIZE, &key), 0, "the client exposes memory");
    is_int(link_register(pair.worker, &whole, &registered), 0,
           "the worker registers memory of any place");
    ok(carry(&pair, false, mine + 100, SIZE - 200, (uintptr_t)theirs + 100, key) &&
           !memcmp(mine + 100, theirs + 100, SIZE - 200),
       "and a transfer goes into all of it");
    check_pieces(&pair, mine + 100, theirs + 100, key);
    struct link_registered *none;
    ok(link_register(pair.worker, &(struct link_local){.base = mine, .size = 4096, .dmabuf = file},
                     &none) < 0 &&
           !none,
       "a file that is no dma-buf is refused");
    ok(link_register(pair.worker,
                     &(struct link_local){.base = (void *)4096, .size = 4096, .dmabuf = -1},
                     &none) < 0 &&
           !none,
       "so is memory that is not there");
    ok(!*link_error(pair.worker), "which is no failure of the link");
    link_unregister(pair.worker, registered);
    is_int(link_register(pair.worker, &whole, &registered), 0, "memory may be registered again");
    link_unregister(pair.worker, registered);
    registered = NULL;
    ok(!carry(&pair, false, mine + 100, 100, (uintptr_t)theirs, key),
       "memory that is not registered is not used");
    ok(strstr(link_error(pair.worker), "not registered") != NULL, "which ends the link");
    close(file);
    pair_close(&pair);
    return done();
}

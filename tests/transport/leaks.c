// SPDX-License-Identifier: BSD-3-Clause
// Hundreds of links that come and go leave no descriptor and no mapping behind.
#include "tests/transport/pairs.h"

enum { TURNS = 200 };

static int count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int count = 0;

    if (!maps)
        bail("no /proc/self/maps");
    while (fgets(line, sizeof(line), maps))
        count += strstr(line, "/memfd:rgpu") != NULL;
    fclose(maps);
    return count;
}

// Every thread and descriptor that a link may come to have; a region is left untaken.
static void use(struct pair *pair)
{
    uint32_t *record = link_reserve(pair->client, 64);
    int fd = memfd_create("region", MFD_CLOEXEC);

    record[1] = 1;
    link_commit(pair->client);
    receive_value(pair->worker, 5000);
    link_send_region(pair->client, 9, fd);
    close(fd);
}

static void turn(const struct pair_kind *kind, int number)
{
    struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 1};
    struct pair pair = pair_open(kind, &options);

    use(&pair);
    if (number % 3 == 0)
        link_shutdown(pair.client);
    pair_close(&pair);
}

// A client that never comes.
static void failed_accept(void)
{
    struct link_options options = {.block_size = 4096, .block_count = 1};
    struct shm_memory *memory;
    struct link *link;
    struct shm_listener listener;

    if (shm_memory_new(&options, &memory) || shm_listen(NULL, -1, &listener))
        bail("no shared memory");
    if (link_shm_accept(&listener, pair_token, &memory, -1, 0, &options, &link) != -ETIMEDOUT)
        fail("a client came from nowhere");
    shm_listener_close(&listener);
    shm_memory_free(&memory);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        turn(&pair_kinds[i], 0);
        int before = count_fds();
        for (int number = 0; number < TURNS; number++) {
            turn(&pair_kinds[i], number);
            if (number % 10 == 0)
                failed_accept();
        }
        is_int(count_fds(), before, "%s: no descriptor is left behind after %d links",
               pair_kinds[i].name, TURNS);
        is_int(count_mappings(), 0, "%s: nor a mapping", pair_kinds[i].name);
    }
    return done();
}

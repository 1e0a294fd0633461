// SPDX-License-Identifier: BSD-3-Clause
// A peer that has written the input into the shared memory of a link: two positions, the asleep
// words, then the ring's bytes.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/shm/shm_private.h"

struct state {
    uint64_t produced; // of the ring to us
    uint64_t consumed; // of the ring from us
    uint32_t asleep[2];
    uint64_t produced_later;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The memory is made once, since that takes far longer than the rest; each link maps it anew.
static struct shm_memory *hostile_memory(void)
{
    static const struct link_options options = {.block_size = 4096, .block_count = 1};
    static struct shm_memory *memory;

    if (!memory && shm_memory_new(&options, &memory))
        abort();
    return memory;
}

static struct shm_memory *map_again(const struct shm_memory *memory)
{
    int events[SHM_DIRECTIONS * SHM_EVENTS];
    struct shm_geometry geometry;
    struct shm_memory *mapped;

    for (int i = 0; i < SHM_DIRECTIONS * SHM_EVENTS; i++)
        events[i] = dup(memory->events[i / SHM_EVENTS][i % SHM_EVENTS]);
    shm_memory_geometry(memory, &geometry);
    if (shm_memory_map(dup(memory->fd), events, &geometry, &mapped))
        abort();
    return mapped;
}

static void write_memory(struct shm_header *header, uint8_t *ring, const struct state *state,
                         const uint8_t *bytes, size_t size)
{
    memset(header, 0, sizeof(*header));
    memset(ring, 0, 4096);
    memcpy(ring, bytes, size);
    atomic_store(&header->rings[SHM_TO_WORKER].produced, state->produced);
    atomic_store(&header->rings[SHM_TO_CLIENT].consumed, state->consumed);
    atomic_store(&header->rings[SHM_TO_WORKER].producer_asleep, state->asleep[0]);
    atomic_store(&header->rings[SHM_TO_CLIENT].consumer_asleep, state->asleep[1]);
}

static void receive_all(struct link *link)
{
    static uint8_t record[WIRE_RECORD_MAX];
    uint8_t payload[8];
    uint32_t claimed;
    int n;

    while ((n = link_receive(link, record, sizeof(record), 0)) > 0) {
        memcpy(&claimed, record, sizeof(claimed));
        if (claimed != (uint32_t)n || n % 8 || (size_t)n > sizeof(record))
            abort();
        // Receives a payload only if it is complete, so that no call waits for it.
        if (record[5] == 1 && link_pending(link) && link_receive_bulk(link, payload, 8))
            break;
    }
    if (n < 0 && !*link_error(link))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shm_memory *hostile = hostile_memory(), *memory = map_again(hostile);
    struct state state = {0};
    size_t bytes = size > sizeof(state) ? size - sizeof(state) : 0;
    struct link *link;
    int ends[2];

    memcpy(&state, data, size < sizeof(state) ? size : sizeof(state));
    write_memory(hostile->header, hostile->rings[SHM_TO_WORKER], &state, data + size - bytes,
                 bytes < SHM_RING_SIZE ? bytes : SHM_RING_SIZE);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) ||
        shm_link_new("shm", SHM_WORKER, &memory, ends[0], -1, NULL, &link))
        abort();
    receive_all(link);
    atomic_store(&hostile->header->rings[SHM_TO_WORKER].produced, state.produced_later);
    receive_all(link);
    if (link_reserve(link, 64))
        link_commit(link);
    link_free(&link);
    close(ends[1]);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// An invalid record ends the link with -EPROTO; a hostile peer that writes arbitrary bytes into
// shared memory cannot do more than that.
#include "tests/transport/pairs.h"
#include "transport/shm/shm_private.h"

static const uint32_t bad_sizes[] = {0,           1,           4,          7,
                                     9,           12,          63,         WIRE_RECORD_MAX + 8,
                                     0x80000000u, 0xffffffffu, 0xfffffff8u};
enum { BAD_SIZES = sizeof(bad_sizes) / sizeof(bad_sizes[0]) };

static uint32_t buffer[WIRE_RECORD_MAX / 4];

// ---- tcp: a raw writer ----

static struct link *tcp_with_raw_peer(int *raw)
{
    struct link *link;
    int fds[2];

    pair_tcp_sockets(fds);
    if (link_tcp_open(fds[0], NULL, NULL, &link))
        bail("no link");
    *raw = fds[1];
    return link;
}

static int tcp_result(const void *bytes, size_t size, bool end)
{
    int raw, r;
    struct link *link = tcp_with_raw_peer(&raw);

    if (write(raw, bytes, size) != (ssize_t)size)
        bail("cannot write");
    if (end)
        shutdown(raw, SHUT_WR);
    do {
        r = link_receive(link, buffer, sizeof(buffer), 5000);
    } while (r > 0);
    close(raw);
    link_free(&link);
    return r;
}

static void check_tcp(void)
{
    uint32_t record[6] = {16, 1, 2, 3};
    bool refused = true;

    for (size_t i = 0; i < BAD_SIZES; i++) {
        record[4] = bad_sizes[i];
        if (tcp_result(record, sizeof(record), false) != -EPROTO) {
            refused = false;
            diag("size %u was not refused", bad_sizes[i]);
        }
    }
    ok(refused, "tcp: impossible sizes are refused");
    record[4] = 16 | 1;
    is_int(tcp_result(record, sizeof(record), true), -EPROTO,
           "tcp: parts over extra connections that were not offered are refused");
    record[4] = 64;
    is_int(tcp_result(record, sizeof(record), true), -EPIPE, "tcp: a truncated record is the end");
    is_int(tcp_result(record, 18, true), -EPIPE, "tcp: a truncated size is the end");
}

// ---- shm: a peer that writes into the memory ----

struct hostile {
    struct link *link; // a worker's
    int socket;
    struct shm_header *header;
    uint8_t *ring;
};

static struct hostile hostile_new(void)
{
    struct link_options options = {.block_size = 4096, .block_count = 1};
    struct shm_memory *memory;
    struct hostile hostile;
    int ends[2];

    if (shm_memory_new(&options, &memory) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends))
        bail("no memory");
    hostile.header = memory->header;
    hostile.ring = memory->rings[SHM_TO_WORKER];
    hostile.socket = ends[1];
    if (shm_link_new("shm", SHM_WORKER, &memory, ends[0], -1, &options, &hostile.link))
        bail("no link");
    return hostile;
}

static void hostile_free(struct hostile *hostile)
{
    link_free(&hostile->link);
    close(hostile->socket);
}

// Publishes PRODUCED bytes that begin with a record of SIZE. Returns the receiver's result.
static int shm_result(uint64_t produced, uint32_t size, size_t room)
{
    struct hostile hostile = hostile_new();
    int r;

    memcpy(hostile.ring, &size, sizeof(size));
    atomic_store(&hostile.header->rings[SHM_TO_WORKER].produced, produced);
    r = link_receive(hostile.link, buffer, room, 1000);
    hostile_free(&hostile);
    return r;
}

// Returns the result of sending when the peer claims to have consumed CONSUMED bytes.
static int shm_sending(uint64_t consumed)
{
    struct hostile hostile = hostile_new();
    void *room;
    int r = 0;

    send_value(hostile.link, 64, 1);
    atomic_store(&hostile.header->rings[SHM_TO_CLIENT].consumed, consumed);
    for (int i = 0; i < 40 && r == 0; i++) {
        room = link_reserve(hostile.link, WIRE_RECORD_MAX);
        if (room)
            link_commit(hostile.link);
        r = room ? 0 : link_receive(hostile.link, buffer, sizeof(buffer), 0);
    }
    hostile_free(&hostile);
    return r;
}

static void check_positions(void)
{
    const uint64_t ring = SHM_RING_SIZE;

    is_int(shm_result(64, 64, sizeof(buffer)), 64, "shm: a right record is received");
    is_int(shm_result(ring + 8, 64, sizeof(buffer)), -EPROTO, "shm: more than a ring");
    is_int(shm_result(UINT64_MAX - 7, 64, sizeof(buffer)), -EPROTO, "shm: less than nothing");
    is_int(shm_result(12, 8, sizeof(buffer)), -EPROTO, "shm: a position off the grid");
    is_int(shm_result(56, 64, sizeof(buffer)), -EPROTO, "shm: a record not wholly published");
    is_int(shm_result(64, 64, 56), -EPROTO, "shm: a record larger than the caller's room");
    is_int(shm_sending(1 << 30), -EPROTO, "shm: consumed more than was produced");
    is_int(shm_sending(UINT64_MAX - ring), -EPROTO, "shm: consumed less than before");
    is_int(shm_sending(4), -EPROTO, "shm: consumed up to a place off the grid");
}

static void check_shm(void)
{
    bool refused = true;

    for (size_t i = 0; i < BAD_SIZES; i++)
        if (shm_result(SHM_RING_SIZE, bad_sizes[i], sizeof(buffer)) != -EPROTO) {
            refused = false;
            diag("size %u was not refused", bad_sizes[i]);
        }
    ok(refused, "shm: impossible sizes are refused");
    check_positions();

    struct hostile hostile = hostile_new();
    for (int d = 0; d < SHM_DIRECTIONS; d++) {
        atomic_store(&hostile.header->rings[d].consumer_asleep, UINT32_MAX);
        atomic_store(&hostile.header->rings[d].producer_asleep, UINT32_MAX);
    }
    ok(send_value(hostile.link, 64, 1), "shm: any value of the asleep words does no harm, sending");
    uint32_t record[2] = {8, 77};
    memcpy(hostile.ring, record, sizeof(record));
    atomic_store(&hostile.header->rings[SHM_TO_WORKER].produced, 8);
    is_int(receive_value(hostile.link, 1000), 77,
           "shm: any value of the asleep words does no harm, receiving");
    atomic_store(&hostile.header->rings[SHM_TO_WORKER].produced, 0);
    is_int(receive_value(hostile.link, 1000), -EPROTO, "shm: a position never goes back");
    ok(strstr(link_error(hostile.link), "broke the protocol"), "shm: the error says what happened");
    hostile_free(&hostile);
}

// The size field changes all the time while records are copied out.
static void *flip_sizes(void *argument)
{
    struct hostile *hostile = argument;
    volatile uint32_t *size = (volatile uint32_t *)hostile->ring;

    for (uint32_t i = 0; !atomic_load(&hostile->header->rings[SHM_DIRECTIONS - 1].producer_asleep);
         i++)
        *size = i & 1 ? 64 : 4096;
    return NULL;
}

static void check_changing_size(void)
{
    bool consistent = true;
    pthread_t thread;

    for (int turn = 0; turn < 50 && consistent; turn++) {
        struct hostile hostile = hostile_new();
        *(volatile uint32_t *)hostile.ring = 64;
        if (pthread_create(&thread, NULL, flip_sizes, &hostile))
            bail("no thread");
        atomic_store(&hostile.header->rings[SHM_TO_WORKER].produced, 8192);
        int n = link_receive(hostile.link, buffer, sizeof(buffer), 1000);
        consistent = (n == 64 || n == 4096) && buffer[0] == (uint32_t)n;
        atomic_store(&hostile.header->rings[SHM_DIRECTIONS - 1].producer_asleep, 1);
        pthread_join(thread, NULL);
        hostile_free(&hostile);
    }
    ok(consistent,
       "shm: a record whose size changes under the copy keeps the size that was checked");
}

int main(void)
{
    check_tcp();
    check_shm();
#if defined(__SANITIZE_THREAD__)
    skip(1, "a race on purpose is no test for the thread sanitizer");
    (void)check_changing_size;
#else
    check_changing_size();
#endif
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Payloads that are sent and received ahead: they arrive whole and in their order once they have
// settled, and a link that goes down leaves nothing under way.
#include <sys/syscall.h>

#include "tests/transport/pairs.h"

enum { PAYLOADS = 24, ROOM = 2 << 20 };

// Large payloads are spread over extra connections, small ones are not.
static size_t length_of(uint32_t i)
{
    static const size_t lengths[] = {512 << 10, 1 << 20, 9, (512 << 10) - 3, ROOM, 200000};

    return lengths[i % (sizeof(lengths) / sizeof(lengths[0]))];
}

struct sender {
    pthread_t thread;
    _Atomic int tid;
    struct link *link;
    uint8_t *memory; // PAYLOADS times ROOM
    int result;
};

static void *sender_main(void *argument)
{
    struct sender *sender = argument;
    struct link_ahead ahead = {0};

    atomic_store(&sender->tid, (int)syscall(SYS_gettid));
    for (uint32_t i = 0; i < PAYLOADS; i++)
        fill_bytes(sender->memory + (size_t)i * ROOM, length_of(i), i);
    for (uint32_t i = 0; i < PAYLOADS && !sender->result; i++) {
        uint32_t record[8] = {0, i};
        sender->result = link_send_bulk_ahead(sender->link, record, sizeof(record),
                                              sender->memory + (size_t)i * ROOM, length_of(i),
                                              &ahead);
    }
    int r = link_settle(sender->link, &ahead);
    sender->result = sender->result ? sender->result : r;
    memset(sender->memory, 0xee, (size_t)PAYLOADS * ROOM); // as a program may, from now on
    return NULL;
}

static bool receive_all(struct link *link, uint8_t *memory)
{
    static uint32_t record[WIRE_RECORD_MAX / 4];
    struct link_ahead ahead = {0};
    bool right = true;

    for (uint32_t i = 0; i < PAYLOADS && right; i++)
        right = link_receive(link, record, sizeof(record), 20000) == 32 && record[1] == i &&
                !link_receive_bulk_ahead(link, memory + (size_t)i * ROOM, length_of(i), &ahead);
    right = !link_settle(link, &ahead) && right;
    for (uint32_t i = 0; i < PAYLOADS && right; i++)
        right = check_bytes(memory + (size_t)i * ROOM, length_of(i), i);
    return right;
}

static void check_direction(const char *name, struct link *from, struct link *to)
{
    struct sender sender = {.link = from, .memory = malloc((size_t)PAYLOADS * ROOM)};
    uint8_t *memory = calloc(PAYLOADS, ROOM);

    if (!memory || !sender.memory || pthread_create(&sender.thread, NULL, sender_main, &sender))
        bail("no memory or no thread");
    bool right = receive_all(to, memory);
    if (!right)
        link_shutdown(from);
    pthread_join(sender.thread, NULL);
    is_int(sender.result, 0, "%s: payloads are sent ahead", name);
    ok(right, "%s: they are received ahead, and whole when they have settled", name);
    free(memory);
    free(sender.memory);
}

// Waits until the thread sleeps for long: the peer's window is closed.
static void await_blocked(const struct sender *sender)
{
    for (int quiet = 0; quiet < 10; quiet++) {
        int tid = atomic_load(&sender->tid);
        long before = tid ? task_switches(tid) : -2;
        poll(NULL, 0, 10);
        if (!tid || !task_sleeps(tid) || task_switches(tid) != before)
            quiet = -1;
    }
}

// The peer takes nothing, and ends the link: at once, or once the sender is BLOCKED.
static void check_end(const char *name, struct link *from, struct link *to, bool blocked)
{
    struct sender sender = {.link = from, .memory = malloc((size_t)PAYLOADS * ROOM)};
    static uint32_t record[WIRE_RECORD_MAX / 4];

    if (!sender.memory || pthread_create(&sender.thread, NULL, sender_main, &sender))
        bail("no memory or no thread");
    is_int(link_receive(to, record, sizeof(record), 20000), 32, "%s: the first has begun", name);
    if (blocked)
        await_blocked(&sender);
    link_shutdown(to);
    pthread_join(sender.thread, NULL);
    is_int(sender.result, -EPIPE, "%s: who sends hears that the peer has gone", name);
    free(sender.memory);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        struct pair pair = pair_open(&pair_kinds[i], NULL);
        check_direction(pair.name, pair.client, pair.worker);
        check_direction(pair.name, pair.worker, pair.client);
        check_end(pair.name, pair.client, pair.worker, false);
        pair_close(&pair);
        pair = pair_open(&pair_kinds[i], NULL);
        check_end(pair.name, pair.client, pair.worker, true);
        pair_close(&pair);
    }
    return done();
}

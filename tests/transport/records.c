// SPDX-License-Identifier: BSD-3-Clause
// Records of many sizes, sent by several threads, arrive whole, and in order for each thread.
#include "tests/transport/pairs.h"

enum { SENDERS = 3, RECORDS = 4000 };

struct sender {
    pthread_t thread;
    struct link *link;
    uint32_t number;
    bool failed;
};

static uint32_t size_of(uint32_t sender, uint32_t turn)
{
    uint32_t mixed = (sender * 2654435761u) ^ (turn * 40503u);

    if (turn % 500 == 499)
        return WIRE_RECORD_MAX;
    return 16 + (mixed % (turn % 7 == 0 ? 8000 : 200)) / 8 * 8;
}

static void *sender_main(void *argument)
{
    struct sender *sender = argument;

    for (uint32_t turn = 0; turn < RECORDS; turn++) {
        uint32_t size = size_of(sender->number, turn);
        uint32_t *record = link_reserve(sender->link, size);
        if (!record) {
            sender->failed = true;
            break;
        }
        if (turn % 11 == 5) {
            memset(record, 0xee, size); // changed its mind
            link_cancel(sender->link);
            record = link_reserve(sender->link, size);
        }
        record[1] = sender->number;
        record[2] = turn;
        record[3] = 0;
        fill_bytes(record + 4, size - 16, sender->number * 100000 + turn);
        if (turn % 50 == 0)
            link_commit_flush(sender->link);
        else
            link_commit(sender->link);
    }
    return NULL;
}

static void check_direction(const char *name, const char *direction, struct link *from,
                            struct link *to)
{
    static uint32_t record[WIRE_RECORD_MAX / 4];
    struct sender senders[SENDERS];
    uint32_t next[SENDERS] = {0};
    uint64_t bytes = 0, sent, received, unused;
    bool right = true;

    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.link = from, .number = i};
        if (pthread_create(&senders[i].thread, NULL, sender_main, &senders[i]))
            bail("no thread");
    }
    for (int i = 0; i < SENDERS * RECORDS && right; i++) {
        int n = link_receive(to, record, sizeof(record), 20000);
        uint32_t who = record[1];
        right = n >= 16 && who < SENDERS && record[2] == next[who] &&
                (uint32_t)n == size_of(who, next[who]) && record[0] == (uint32_t)n &&
                check_bytes(record + 4, (size_t)n - 16, who * 100000 + next[who]);
        if (!right)
            diag("record %d: n=%d who=%u turn=%u: %s", i, n, who, record[2], link_error(to));
        else
            next[who]++;
        bytes += right ? (uint64_t)n : 0;
    }
    if (!right)
        link_shutdown(from);
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(senders[i].thread, NULL);
        right = right && !senders[i].failed;
    }
    ok(right, "%s: %d threads' records arrive whole and in order, %s", name, SENDERS, direction);
    link_bytes(from, &sent, &unused);
    link_bytes(to, &unused, &received);
    ok(sent == bytes && received == bytes, "%s: bytes are counted on both sides", name);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        struct pair pair = pair_open(&pair_kinds[i], NULL);
        check_direction(pair.name, "to the worker", pair.client, pair.worker);
        check_direction(pair.name, "to the client", pair.worker, pair.client);
        is_str(link_name(pair.client),
               strstr(pair.name, "tls") || strstr(pair.name, "extra connections") ? "tcp"
                                                                                  : pair.name,
               "%s: has its name", pair.name);
        is_str(link_error(pair.client), "", "%s: no error", pair.name);
        pair_close(&pair);
    }
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Payloads of any size follow their record, between records, in both directions.
#include "tests/transport/pairs.h"

static const size_t lengths[] = {0,       1,    7,     8,         9,      255,
                                 4095,    4096, 65537, 512 << 10, 524289, (3 << 20) + 5,
                                 8 << 20, 3};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

struct sender {
    pthread_t thread;
    struct link *link;
    int result;
};

static void *sender_main(void *argument)
{
    struct sender *sender = argument;
    uint8_t *payload = malloc(9 << 20);

    for (uint32_t i = 0; i < LENGTHS && !sender->result; i++) {
        uint32_t record[8] = {0, i, (uint32_t)lengths[i]};
        fill_bytes(payload, lengths[i], i);
        if (!send_value(sender->link, 64, 1000 + i))
            sender->result = -EPIPE;
        else
            sender->result =
                link_send_bulk(sender->link, record, sizeof(record), payload, lengths[i]);
    }
    free(payload);
    return NULL;
}

static void check_direction(const char *name, struct link *from, struct link *to)
{
    static uint32_t record[WIRE_RECORD_MAX / 4];
    struct sender sender = {.link = from};
    uint8_t *payload = malloc(9 << 20);
    bool right = true;

    if (pthread_create(&sender.thread, NULL, sender_main, &sender))
        bail("no thread");
    for (uint32_t i = 0; i < LENGTHS; i++) {
        if (receive_value(to, 20000) != 1000 + i) {
            right = false;
            break;
        }
        int n = link_receive(to, record, sizeof(record), 20000);
        memset(payload, 0, lengths[i] + 1);
        int r = n == 32 ? link_receive_bulk(to, payload, lengths[i]) : n;
        bool whole = n == 32 && r == 0 && record[0] == 32 && record[1] == i &&
                     check_bytes(payload, lengths[i], i) && payload[lengths[i]] == 0;
        if (!whole)
            diag("length %zu: n=%d r=%d %s", lengths[i], n, r, link_error(to));
        right = right && whole;
    }
    if (!right)
        link_shutdown(from);
    pthread_join(sender.thread, NULL);
    is_int(sender.result, 0, "%s: payloads are sent", name);
    ok(right, "%s: payloads of %d sizes arrive whole, with records between them", name, LENGTHS);
    free(payload);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        struct pair pair = pair_open(&pair_kinds[i], NULL);
        check_direction(pair.name, pair.client, pair.worker);
        check_direction(pair.name, pair.worker, pair.client);
        pair_close(&pair);
    }
    return done();
}

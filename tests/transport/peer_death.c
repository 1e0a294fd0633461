// SPDX-License-Identifier: BSD-3-Clause
// Every kind of wait detects that the peer was killed; the data that it sent before is still
// received.
#include "tests/transport/pairs.h"

enum { LARGE = 32 << 20 };

static void do_nothing(struct link *link)
{
    send_value(link, 64, 1); // it is up
    for (;;)
        pause();
}

static void receive_all(struct link *link)
{
    send_value(link, 64, 1);
    while (receive_value(link, -1) >= 0)
        ;
}

static void send_large(struct link *link)
{
    uint32_t record[4] = {0, 1};
    void *payload = calloc(1, LARGE);

    link_send_bulk(link, record, sizeof(record), payload, LARGE);
    for (;;)
        pause();
}

static void send_three(struct link *link)
{
    for (uint32_t i = 1; i <= 3; i++)
        send_value(link, 64, i);
}

static void kill_peer(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void send_payload(struct waiter *waiter)
{
    uint32_t record[4] = {0};
    void *payload = calloc(1, LARGE);

    waiter->result = link_send_bulk(waiter->link, record, sizeof(record), payload, LARGE);
    free(payload);
}

static void receive_payload(struct waiter *waiter)
{
    void *payload = malloc(2 * LARGE);

    waiter->result = link_receive_bulk(waiter->link, payload, 2 * LARGE);
    free(payload);
}

// Returns the result of a thread that runs BODY when the peer, which runs PEER, is killed.
static int64_t killed_while(const struct pair_kind *kind, void (*peer)(struct link *),
                            void (*body)(struct waiter *), const char *doing)
{
    struct link_options options = {.spin_us = 5};
    struct waiter waiter;
    struct pair pair;
    pid_t pid = pair_fork(kind, &pair, &options, peer);
    int64_t result;

    is_int(receive_value(pair.client, 20000), 1, "%s: the peer is up", kind->name);
    waiter_start(&waiter, body, pair.client);
    bool asleep = waiter_await_sleep(&waiter);
    kill_peer(pid);
    result = waiter_join(&waiter);
    ok(asleep, "%s: a peer's death while %s is noticed", kind->name, doing);
    is_str(link_error(pair.client), "the peer has gone", "%s: and told", kind->name);
    ok(!link_reserve(pair.client, 64), "%s: nothing can be sent after it", kind->name);
    pair_close(&pair);
    return result;
}

static void check_last_words(const struct pair_kind *kind)
{
    struct pair pair;
    pid_t pid = pair_fork(kind, &pair, NULL, send_three);

    waitpid(pid, NULL, 0);
    bool all = true;
    for (int i = 1; i <= 3; i++)
        all = receive_value(pair.client, 20000) == i && all;
    ok(all, "%s: what the peer sent before it went is received", kind->name);
    ok(link_pending(pair.client), "%s: its end is pending", kind->name);
    is_int(receive_value(pair.client, 20000), -EPIPE, "%s: then comes the end", kind->name);
    pair_close(&pair);
}

static void check_watch(const struct pair_kind *kind)
{
    for (int side = 0; side < 2; side++) {
        struct pair pair = pair_open(kind, NULL);
        struct waiter waiter;
        waiter_start(&waiter, wait_for_value, side ? pair.client : pair.worker);
        waiter_await_sleep(&waiter);
        shutdown(pair.watch[!side], SHUT_RDWR); // links of vm have a descriptor of their own
        close(pair.watch[!side]);
        pair.watch[!side] = -1;
        is_int(waiter_join(&waiter), -EPIPE,
               "%s: the control connection's end ends the link at the %s", kind->name,
               side ? "client" : "worker");
        pair_close(&pair);
    }
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        const struct pair_kind *kind = &pair_kinds[i];
        if (kind->in_process)
            continue;
        is_int(killed_while(kind, receive_all, wait_for_value, "receiving"), -EPIPE,
               "%s: -EPIPE from receiving", kind->name);
        killed_while(kind, do_nothing, send_for_ever, "sending records");
        is_int(killed_while(kind, do_nothing, send_payload, "sending a payload"), -EPIPE,
               "%s: -EPIPE from sending a payload", kind->name);
        is_int(killed_while(kind, send_large, receive_payload, "receiving a payload"), -EPIPE,
               "%s: -EPIPE from receiving a payload", kind->name);
        check_last_words(kind);
    }
    check_watch(PAIR_KINDS == 1 ? &pair_kinds[0] : pair_kind_named("shm"));
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// tcp: a sender, and a receiver that waits for an answer, detect after ten seconds that the peer's
// host is dead. A peer that is merely stopped is not treated as dead, even if its window stays
// closed.
#include "tests/transport/pairs.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

enum { STOPPED_FOR = 13 };

static bool set_loopback(bool up)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool done_well;

    request.ifr_flags = up ? IFF_UP : 0;
    done_well = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0)
        close(fd);
    return done_well;
}

static void check_silence(void)
{
    struct pair asking = pair_open(pair_kind_named("tcp"), NULL),
                sending = pair_open(pair_kind_named("tcp"), NULL);
    struct waiter receiver, sender;
    double cut;

    waiter_start(&sender, send_for_ever, sending.client);
    waiter_await_sleep(&sender);
    if (!set_loopback(false))
        bail("cannot cut the network");
    cut = seconds_now();
    send_value(asking.client, 64, 1);
    waiter_start(&receiver, wait_for_value, asking.client);
    is_int(waiter_join(&receiver), -ETIMEDOUT, "tcp: a receiver gives up a silent host");
    is_str(link_error(asking.client), "the peer does not answer", "tcp: and says so");
    // The kernel by itself would try for a quarter of an hour, which is beyond this test's limit.
    waiter_join(&sender);
    diag("a receiver gave up after %.1f s, a sender after %.1f s", receiver.ended - cut,
         sender.ended - cut);
    pair_close(&asking);
    pair_close(&sending);
}

static void swallow(struct waiter *waiter)
{
    while (receive_value(waiter->link, 5000) >= 0)
        waiter->result++;
}

static bool goes_on(struct link *link, uint64_t sent_before)
{
    double deadline = seconds_now() + 20;
    uint64_t sent, received;

    do {
        poll(NULL, 0, 10);
        link_bytes(link, &sent, &received);
    } while (sent == sent_before && seconds_now() < deadline);
    return sent > sent_before;
}

static void check_stopped(struct pair *pair, struct waiter *sender)
{
    struct waiter receiver;
    uint64_t sent, received;

    ok(!atomic_load(&sender->done), "tcp: a peer that reads nothing for %d s is not given up",
       STOPPED_FOR);
    link_bytes(pair->client, &sent, &received);
    waiter_start(&receiver, swallow, pair->worker);
    ok(goes_on(pair->client, sent), "tcp: once it reads, the sender goes on");
    link_shutdown(pair->client);
    waiter_join(&receiver);
    waiter_join(sender);
    ok(receiver.result >= sender->result, "tcp: and everything arrives");
}

int main(void)
{
    struct pair stopped;
    struct waiter sender;
    double start = seconds_now();

    // Its sockets stay in the network that they were made in.
    stopped = pair_open(pair_kind_named("tcp"), NULL);
    waiter_start(&sender, send_for_ever, stopped.client);
    if ((unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) || !set_loopback(true)) {
        link_shutdown(stopped.client);
        waiter_join(&sender);
        pair_close(&stopped);
        skip_all("a network of our own cannot be made here");
    }
    check_silence();
    while (seconds_now() - start < STOPPED_FOR)
        poll(NULL, 0, 100);
    check_stopped(&stopped, &sender);
    pair_close(&stopped);
    return done();
}

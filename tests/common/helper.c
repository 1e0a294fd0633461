// SPDX-License-Identifier: BSD-3-Clause
// Tests helper threads beside an event loop: jobs run in order, end in the caller's thread and are
// limited in number; a descriptor whose close blocks delays no other work.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/service/helper.h"
#include "tests/tap.h"

struct noted {
    struct helper_job job;
    int number;
    pthread_t ran_in;
};

static int gate[2]; // a job that reads from it blocks
static int order[16], ordered;

static void note(struct helper_job *job)
{
    ((struct noted *)job)->ran_in = pthread_self();
}

static void wait_at_gate(struct helper_job *job)
{
    char byte;

    note(job);
    if (read(gate[0], &byte, 1) != 1)
        abort();
}

static void finish(struct helper_job *job)
{
    struct noted *noted = (struct noted *)job;

    order[ordered++] = pthread_equal(noted->ran_in, pthread_self()) ? -1 : noted->number;
    free(noted);
}

static struct helper_job *job(int number, void (*run)(struct helper_job *))
{
    struct noted *noted = calloc(1, sizeof(*noted));

    if (!noted)
        bail("no memory");
    *noted = (struct noted){.job = {.run = run, .done = finish}, .number = number};
    return &noted->job;
}

static bool is_number(const struct helper_job *waiting, const void *argument)
{
    return ((const struct noted *)waiting)->number == *(const int *)argument;
}

static void test_jobs(void)
{
    struct helper *helper = helper_new(1, 3);
    const int second = 2, none = 9;

    if (!helper || pipe2(gate, O_CLOEXEC))
        bail("no helper");
    is_int(helper_submit(helper, job(1, wait_at_gate)), 0, "a job that blocks is taken");
    // The queue is full once the thread has taken the first one.
    for (int i = 2; i < 5;) {
        struct helper_job *next = job(i, note);
        if (helper_submit(helper, next) == 0)
            i++;
        else
            free(next);
    }
    struct helper_job *excess = job(5, note);
    is_int(helper_submit(helper, excess), -EBUSY, "one too many is not");
    free(excess);
    struct helper_job *back = helper_withdraw(helper, is_number, &second);
    ok(back && is_number(back, &second), "one that waits is taken back");
    free(back);
    ok(!helper_withdraw(helper, is_number, &none), "one that is not there is not");
    is_int(ordered, 0, "the caller has waited for none of them");
    ok(write(gate[1], "x", 1) == 1, "the first one goes on");
    struct pollfd readable = {.fd = helper_descriptor(helper), .events = POLLIN};
    is_int(poll(&readable, 1, -1), 1, "the event loop learns that a job has run");
    helper_drain(helper);
    is_int(ordered, 3, "all end");
    is_int(order[0] * 100 + order[1] * 10 + order[2], 134,
           "in order, having run in another thread");
    helper_free(&helper);
    ok(!helper, "the helper is gone");
}

// Two ends of a TCP connection, of which the first one's buffer is full.
static void make_full(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    static const char zeros[65536];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (void *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (void *)&address, &size) ||
        connect(ends[0], (void *)&address, size) || (ends[1] = accept(listener, NULL, NULL)) < 0)
        bail("no connection");
    while (send(ends[0], zeros, sizeof(zeros), MSG_DONTWAIT) > 0)
        ;
    close(listener);
}

// The close waits until the peer has taken everything, or for an hour. The peer is this thread, so
// it never would if the close held the thread up.
static void test_close(void)
{
    const struct linger hour = {.l_onoff = 1, .l_linger = 3600};
    char waste[65536];
    ssize_t size;
    int ends[2];

    make_full(ends);
    if (setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)))
        bail("no option");
    close_aside(ends[0]);
    pass("the close of a socket that lingers holds the caller up for nothing");
    while ((size = read(ends[1], waste, sizeof(waste))) > 0)
        ;
    is_int(size, 0, "and ends once the peer has what was sent");
    close(ends[1]);
}

// Descriptors that strangers passed may all block, and the next close is made all the same.
static void test_strangers(void)
{
    const struct linger hour = {.l_onoff = 1, .l_linger = 3600};
    int ends[2], pipes[2];
    char byte;

    make_full(ends);
    if (setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)) || pipe(pipes))
        bail("no descriptors");
    int second = dup(pipes[1]);
    close_stranger(ends[0]);
    close_stranger(second);
    close_aside(pipes[1]);
    struct pollfd ended = {.fd = pipes[0]};
    is_int(poll(&ended, 1, 100), 0, "a stranger's close that blocks holds up other strangers");
    close(ends[1]); // resets the connection
    is_int(read(pipes[0], &byte, 1), 0, "which are closed after it");
    make_full(ends);
    if (setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)) || pipe(pipes))
        bail("no descriptors");
    close_stranger(ends[0]);
    close_aside(pipes[1]);
    is_int(read(pipes[0], &byte, 1), 0, "and nobody else");
    close(ends[1]);
}

int main(void)
{
    test_jobs();
    test_close();
    test_strangers();
    return done();
}

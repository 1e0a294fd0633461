// SPDX-License-Identifier: BSD-3-Clause
// The account of a lease: one limit for several processes, exact, also where one dies in the middle.
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ledger.h"
#include "tests/tap.h"

enum { LIMIT = 1000000, STEP = 100, PROCESSES = 4 };

static struct ledger *ledger;

// A worker: takes what it can and gives some of it back, again and again; leaves with what it holds.
static void work(uint64_t session)
{
    int line = ledger_find_line(ledger, session);
    uint64_t held = 0;

    for (int i = 0; i < 200000; i++) {
        if (ledger_take(ledger, line, 3, STEP, LIMIT))
            held += STEP;
        if (i % 3 == 0 && held) {
            ledger_give(ledger, line, 3, STEP);
            held -= STEP;
        }
        if (ledger_used(ledger, 3) > LIMIT)
            _exit(1);
    }
    _exit(0);
}

static void test_processes(void)
{
    pid_t pids[PROCESSES];
    int wrong = 0, status;

    for (int i = 0; i < PROCESSES; i++) {
        if (ledger_open_line(ledger, 10 + (uint64_t)i))
            bail("no line");
        pids[i] = fork();
        if (!pids[i])
            work(10 + (uint64_t)i);
    }
    // One is killed wherever it is, perhaps while it holds the lock.
    kill(pids[0], SIGKILL);
    waitpid(pids[0], &status, 0);
    ledger_close_line(ledger, 10);
    for (int i = 1; i < PROCESSES; i++) {
        waitpid(pids[i], &status, 0);
        wrong += status != 0;
    }
    is_int(wrong, 0, "all processes together never exceed the limit, whoever is killed");
    is_int(ledger_used(ledger, 3), LIMIT, "and use it to the last byte");
    for (int i = 1; i < PROCESSES; i++)
        ledger_close_line(ledger, 10 + (uint64_t)i);
    is_int(ledger_used(ledger, 3), 0, "what they held is back when they have gone");
}

int main(void)
{
    int fd, lines = 0;

    if (ledger_create(&fd) || ledger_map(fd, &ledger))
        bail("no ledger");
    is_int(ledger_find_line(ledger, 7), -ENOENT, "an unknown session has no line");
    is_int(ledger_open_line(ledger, 7), 0, "a line is opened");
    is_int(ledger_find_line(ledger, 7), 0, "and found");
    ok(ledger_take(ledger, 0, 0, 60, 100), "60 of 100");
    is_int(ledger_open_line(ledger, 8), 0, "a second session");
    ok(!ledger_take(ledger, 1, 0, 41, 100), "not 41 more by another process");
    is_int(ledger_take_first(ledger, 8, 0, 41, 100), -ENOSPC, "nor for it beforehand");
    is_int(ledger_take_first(ledger, 8, 0, 5, 100), 0, "but 5");
    ledger_give(ledger, 1, 0, 5);
    is_int(ledger_take_first(ledger, 99, 0, 1, 100), -EINVAL,
           "nothing for a session without a line");
    ok(ledger_take(ledger, 1, 0, 40, 100), "but 40");
    ok(ledger_take(ledger, 1, 1, 100, 100), "another device has an account of its own");
    ok(!ledger_take(ledger, 1, 0, UINT64_MAX, 100), "no overflow");
    ledger_limit_images(ledger, 100);
    ok(ledger_take_images(ledger, 0, 60), "images of 60 of 100");
    ok(!ledger_take_images(ledger, 1, 41), "not 41 more by another process");
    ok(ledger_take_images(ledger, 1, 40), "but 40");
    ok(!ledger_take_images(ledger, 1, UINT64_MAX), "no overflow there");
    ledger_give_images(ledger, 0, 60);
    ok(ledger_take_images(ledger, 1, 60), "what one has given back another one takes");
    ledger_give_images(ledger, 1, 100);
    ok(!ledger_take(ledger, 1, LEDGER_DEVICES, 1, 100), "no device beyond the last");
    ledger_give(ledger, 0, 0, 10);
    is_int(ledger_used(ledger, 0), 90, "what is given back is free");
    uint64_t room;
    ok(!ledger_has_room_set(ledger, 0), "nothing bounds the room at first");
    is_int(ledger_shrink_room(ledger, 0, &room), 0, "it is shrunk");
    is_int(room, 90, "to what is held");
    ok(!ledger_take(ledger, 0, 0, 1, 100), "so that no more is taken");
    ok(ledger_lacks_room(ledger, 0, 1, 100), "for want of room");
    ok(!ledger_lacks_room(ledger, 0, 11, 100), "which a limit that is exceeded is not");
    ledger_give(ledger, 0, 0, 5);
    ok(ledger_take(ledger, 0, 0, 5, 100), "what is given back can be taken again");
    ledger_set_room(ledger, 0, 95);
    ok(ledger_take(ledger, 0, 0, 5, 100), "there is more room");
    ok(!ledger_take(ledger, 0, 0, 1, 100), "and no more than that");
    ledger_give(ledger, 0, 0, 5);
    ledger_close_line(ledger, 8);
    is_int(ledger_used(ledger, 0), 50, "and what a session leaves behind");
    ledger_close_line(ledger, 7);
    ok(ftruncate(fd, 0) < 0, "a worker cannot shrink what the supervisor maps");
    test_processes();
    while (!ledger_open_line(ledger, 100 + (uint64_t)lines))
        lines++;
    is_int(lines, LEDGER_LINES, "as many sessions as there are lines");
    ledger_unmap(&ledger);
    return done();
}

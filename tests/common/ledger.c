// SPDX-License-Identifier: BSD-3-Clause
// The account of a lease: the limit for several processes is exact, even if one dies in the middle.
// The supervisor neither blocks nor accepts impossible values, regardless of the words that a
// worker writes.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/service/ledger.h"
#include "tests/tap.h"

enum { LIMIT = 1000000, STEP = 100, PROCESSES = 4, ROUNDS = 20000 };

static struct ledger *box; // as the supervisor has it
static struct ledger *ledger;

// A worker: repeatedly takes as much as it can and gives some back; ends without giving back the
// rest.
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
        if (ledger_open_line(box, 10 + (uint64_t)i))
            bail("no line");
        pids[i] = fork();
        if (!pids[i])
            work(10 + (uint64_t)i);
    }
    // One is killed wherever it is, perhaps in the middle of taking.
    kill(pids[0], SIGKILL);
    waitpid(pids[0], &status, 0);
    ledger_close_line(box, 10);
    for (int i = 1; i < PROCESSES; i++) {
        waitpid(pids[i], &status, 0);
        wrong += status != 0;
    }
    is_int(wrong, 0, "all processes together never exceed the limit, whoever is killed");
    is_int(ledger_used(ledger, 3), LIMIT, "and use it to the last byte");
    for (int i = 1; i < PROCESSES; i++)
        ledger_close_line(box, 10 + (uint64_t)i);
    is_int(ledger_used(ledger, 3), 0, "what they held is back when they have gone");
}

// ---- two that want the last bytes ----

struct race {
    _Atomic int arrived[2]; // rounds
    bool won[2][ROUNDS];
};

static void await_other(struct race *race, int me, int round)
{
    atomic_store(&race->arrived[me], round);
    while (atomic_load(&race->arrived[!me]) < round)
        sched_yield();
}

static void run_race(struct race *race, int me)
{
    int line = ledger_find_line(ledger, 20 + (uint64_t)me);

    for (int i = 0; i < ROUNDS; i++) {
        await_other(race, me, 2 * i + 1);
        race->won[me][i] = ledger_take(ledger, line, 5, 60, 100);
        await_other(race, me, 2 * i + 2);
        if (race->won[me][i])
            ledger_give(ledger, line, 5, 60);
    }
}

static void test_race(void)
{
    struct race *race =
        mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int none = 0, both = 0, status;

    if (race == MAP_FAILED || ledger_open_line(box, 20) || ledger_open_line(box, 21))
        bail("no race");
    pid_t pid = fork();
    run_race(race, pid == 0);
    if (!pid)
        _exit(0);
    waitpid(pid, &status, 0);
    for (int i = 0; i < ROUNDS; i++) {
        none += !race->won[0][i] && !race->won[1][i];
        both += race->won[0][i] && race->won[1][i];
    }
    is_int(none, 0, "of two that want the last bytes at once one gets them, each time");
    is_int(both, 0, "and never both");
    is_int(ledger_used(ledger, 5), 0, "nothing of it is left");
    ledger_close_line(box, 20);
    ledger_close_line(box, 21);
    munmap(race, sizeof(*race));
}

// ---- a worker that writes arbitrary values ----

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Writes words that a reader could mistake for locks, owners, lists, lengths or sums.
static void scribble(uint64_t *words, size_t count, uint64_t seed)
{
    static const uint64_t evil[] = {0,
                                    1,
                                    UINT64_MAX,
                                    UINT64_C(1) << 63,
                                    LEDGER_LINE_MOST,
                                    0x40000000 /* FUTEX_OWNER_DIED */,
                                    0x80000001 /* FUTEX_WAITERS, and an owner */,
                                    0x4141414141414141};

    for (;;) {
        uint64_t random = next_random(&seed);
        words[random % count] = random & (1 << 20) ? evil[random >> 61] : random;
    }
}

static pid_t start_vandal(void)
{
    const int *fds = ledger_descriptors(box);
    size_t size = (size_t)lseek(fds[0], 0, SEEK_END);
    pid_t pid = fork();

    if (pid)
        return pid;
    uint64_t *words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    if (words == MAP_FAILED)
        _exit(1);
    scribble(words, size / sizeof(*words), 88172645463325252u);
    _exit(0);
}

static void test_rules_are_read_only(void)
{
    const int rules = ledger_descriptors(box)[1];
    size_t size = (size_t)lseek(rules, 0, SEEK_END);

    ok(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, rules, 0) == MAP_FAILED,
       "a worker cannot map the rules to write them");
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, rules, 0);
    ok(map != MAP_FAILED && mprotect(map, size, PROT_READ | PROT_WRITE),
       "nor make its mapping one that can");
    ok(pwrite(rules, "x", 1, 0) < 0, "nor write the file");
    ok(fallocate(rules, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
       "nor make a hole in it");
    ok(ftruncate(rules, 0), "nor shorten it");
}

static void test_vandal(void)
{
    const uint64_t most = LEDGER_LINES * LEDGER_LINE_MOST + LEDGER_LINE_MOST;
    int wrong = 0, status;
    pid_t pid = start_vandal();

    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t session = 1000 + i % 300;
        int err = ledger_open_line(box, session);
        if (!err)
            err = ledger_take_first(box, session, i % LEDGER_DEVICES, 1 << 20, 1 << 30);
        wrong += err && err != -ENOSPC && err != -EBUSY && err != -EAGAIN;
        ledger_charge(box, session, i % LEDGER_DEVICES, 1 << 20);
        wrong += ledger_shrink_quota(box, i % LEDGER_DEVICES) > 2 * most;
        wrong += ledger_used(box, i % LEDGER_DEVICES) > most;
        if (i % 3)
            ledger_close_line(box, session);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status), "a worker scribbled over the account all the time");
    is_int(wrong, 0, "the supervisor never waited and believed nothing impossible");
    for (uint64_t session = 1000; session < 1300; session++)
        ledger_close_line(box, session);
}

// ---- a supervisor that takes over ----

static bool is_eight(const void *argument, uint64_t session)
{
    return session == 8;
}

static void test_take_over(void)
{
    struct ledger *first = NULL, *worker = NULL, *second = NULL;
    int broken[LEDGER_FDS];

    if (ledger_create(&first) || ledger_open_line(first, 7) || ledger_open_line(first, 8) ||
        ledger_map(ledger_descriptors(first), &worker))
        bail("no account to take over");
    ledger_take(worker, 1, 0, 30, 100);
    ledger_take(worker, 0, 0, 20, 100);
    ledger_charge(first, 8, 0, 5);
    broken[0] = ledger_descriptors(first)[0];
    broken[1] = ledger_descriptors(first)[0];
    is_int(ledger_take_over(broken, &second), -EBADF, "rules of another size are refused");
    is_int(ledger_take_over(ledger_descriptors(first), &second), 0,
           "another supervisor takes the account over");
    is_int(ledger_used(second, 0), 55, "with all that is used");
    ledger_keep_lines(second, is_eight, NULL);
    is_int(ledger_used(second, 0), 35, "without the line of a session that is gone");
    is_int(ledger_change_rules(worker, ledger_descriptors(second)[1]), 0,
           "the worker takes its rules");
    ledger_unmap(&first);
    ledger_set_quota(second, 0, 40);
    ok(!ledger_take(worker, 1, 0, 10, 100), "which it obeys");
    ok(ledger_take(worker, 1, 0, 5, 100), "up to their limit");
    is_int(ledger_open_line(second, 9), 0, "another session begins");
    is_int(ledger_find_line(worker, 9), 0, "and the worker sees it");
    box = second;
    test_rules_are_read_only();
    box = NULL;
    ledger_unmap(&worker);
    ledger_unmap(&second);
}

int main(void)
{
    int lines = 0;

    if (ledger_create(&box) || ledger_map(ledger_descriptors(box), &ledger))
        bail("no ledger");
    is_int(ledger_find_line(ledger, 7), -ENOENT, "an unknown session has no line");
    is_int(ledger_open_line(box, 7), 0, "a line is opened");
    is_int(ledger_find_line(ledger, 7), 0, "and found");
    ok(ledger_take(ledger, 0, 0, 60, 100), "60 of 100");
    is_int(ledger_open_line(box, 8), 0, "a second session");
    ok(!ledger_take(ledger, 1, 0, 41, 100), "not 41 more by another process");
    is_int(ledger_take_first(box, 8, 0, 41, 100), -ENOSPC, "nor for it beforehand");
    is_int(ledger_take_first(box, 8, 0, 5, 100), 0, "but 5");
    ledger_give(ledger, 1, 0, 5);
    is_int(ledger_line_used(ledger, 1, 0), 0, "which the worker gives back");
    ledger_charge(box, 8, 2, 7);
    is_int(ledger_used(ledger, 2), 7, "what the supervisor charges counts");
    is_int(ledger_take_first(box, 99, 0, 1, 100), -EINVAL, "nothing for a session without a line");
    ok(ledger_take(ledger, 1, 0, 40, 100), "but 40");
    ok(ledger_take(ledger, 1, 1, 100, 100), "another device has an account of its own");
    ok(!ledger_take(ledger, 1, 0, UINT64_MAX, 100), "no overflow");
    ledger_limit_images(box, 100);
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
    ok(!ledger_has_quota(ledger, 0), "nothing bounds the room at first");
    is_int(ledger_shrink_quota(box, 0), 90, "it is shrunk to what is held");
    ok(!ledger_take(ledger, 0, 0, 1, 100), "so that no more is taken");
    ok(ledger_lacks_quota(ledger, 0, 1, 100), "for want of room");
    ok(!ledger_lacks_quota(ledger, 0, 11, 100), "which a limit that is exceeded is not");
    ledger_give(ledger, 0, 0, 5);
    ok(ledger_take(ledger, 0, 0, 5, 100), "what is given back can be taken again");
    ledger_set_quota(box, 0, 95);
    ok(ledger_take(ledger, 0, 0, 5, 100), "there is more room");
    ok(!ledger_take(ledger, 0, 0, 1, 100), "and no more than that");
    ledger_give(ledger, 0, 0, 5);
    ledger_close_line(box, 8);
    is_int(ledger_used(ledger, 0), 50, "and what a session leaves behind");
    ledger_close_line(box, 7);
    ok(ftruncate(ledger_descriptors(box)[0], 0) < 0,
       "a worker cannot shrink what the supervisor maps");
    test_rules_are_read_only();
    test_processes();
    test_race();
    while (!ledger_open_line(box, 100 + (uint64_t)lines))
        lines++;
    is_int(lines, LEDGER_LINES, "as many sessions as there are lines");
    for (int i = 0; i < lines; i++)
        ledger_close_line(box, 100 + (uint64_t)i);
    test_vandal();
    ledger_unmap(&ledger);
    ledger_unmap(&box);
    test_take_over();
    return done();
}

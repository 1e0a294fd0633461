// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/ledger.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/base/clock.h"
#include "common/base/scope.h"
#include "common/base/wait.h"
#include "common/service/ledger_layout.h"

_Static_assert(LEDGER_LINE_MOST <= UINT64_MAX / (4 * LEDGER_LINES), "no sum overflows");

// ---- reading: each word once, and bounded ----

static uint64_t bounded(uint64_t word)
{
    return word < LEDGER_LINE_MOST ? word : LEDGER_LINE_MOST;
}

static uint64_t used(const struct ledger *ledger, unsigned count, int line)
{
    uint64_t charged = atomic_load(&ledger->rules->charged[count][line]);
    uint64_t sum = charged + atomic_load(&ledger->words->counts[count].used[line]);

    return (int64_t)sum < 0 ? 0 : bounded(sum);
}

static uint64_t ledger_sum_used(const struct ledger *ledger, unsigned count)
{
    uint64_t sum = 0;

    for (int i = 0; i < LEDGER_LINES; i++)
        sum += used(ledger, count, i);
    return sum;
}

// Sums what all workers hold or are just taking. Memory taken meanwhile is seen in one of the two
// words, or in both, since it is counted before its announcement ends.
static uint64_t sum_claimed(const struct ledger *ledger, unsigned count)
{
    uint64_t sum = bounded(atomic_load(&ledger->rules->trying[count]));

    for (int i = 0; i < LEDGER_LINES; i++) {
        sum += bounded(atomic_load(&ledger->words->counts[count].trying[i]));
        sum += used(ledger, count, i);
    }
    return sum;
}

// Sums what all held at one moment. Returns false if a line has changed meanwhile.
static bool sum_at_once(const struct ledger *ledger, unsigned count, uint64_t *sum)
{
    uint64_t changes[LEDGER_LINES], held[LEDGER_LINES];
    bool same = true;

    *sum = 0;
    for (int i = 0; i < LEDGER_LINES; i++) {
        changes[i] = atomic_load(&ledger->words->changes[i]);
        held[i] = used(ledger, count, i);
        *sum += held[i];
    }
    for (int i = 0; i < LEDGER_LINES && same; i++)
        same = used(ledger, count, i) == held[i] &&
               atomic_load(&ledger->words->changes[i]) == changes[i];
    return same;
}

static bool ledger_fits(uint64_t sum, uint64_t size, uint64_t limit)
{
    return sum <= limit && size <= limit - sum;
}

static uint64_t ledger_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int ledger_find_line(const struct ledger *ledger, uint64_t session)
{
    for (int i = 0; i < LEDGER_LINES; i++)
        if (atomic_load(&ledger->rules->sessions[i]) == session)
            return i;
    return -ENOENT;
}

uint64_t ledger_line_used(const struct ledger *ledger, int line, unsigned device)
{
    return device < LEDGER_DEVICES ? used(ledger, device, line) : 0;
}

uint64_t ledger_used(const struct ledger *ledger, unsigned device)
{
    return device < LEDGER_DEVICES ? ledger_sum_used(ledger, device) : 0;
}

enum verdict { VERDICT_FITS, VERDICT_OVER, VERDICT_CONTENDED };

// SIZE has been announced, so the claims include it. The quota is read after that: a process that
// lowers it sees either the announcement or a worker that respects the new quota.
static enum verdict ledger_judge(const struct ledger *ledger, unsigned count, uint64_t size,
                                 uint64_t limit)
{
    uint64_t sum, most = ledger_least(limit, atomic_load(&ledger->rules->room[count]));

    if (sum_claimed(ledger, count) <= most)
        return VERDICT_FITS;
    return sum_at_once(ledger, count, &sum) && !ledger_fits(sum, size, most) ? VERDICT_OVER
                                                                             : VERDICT_CONTENDED;
}

// ---- the supervisor's side ----

// Clears the supervisor's count first: until the worker's word is cleared, too, no line seems to
// hold more than it did.
static void ledger_clear(struct ledger *ledger, int line)
{
    for (int i = 0; i < LEDGER_COUNTS; i++) {
        atomic_store(&ledger->rules->charged[i][line], 0);
        atomic_store(&ledger->words->counts[i].used[line], 0);
        atomic_store(&ledger->words->counts[i].trying[line], 0);
    }
}

int ledger_open_line(struct ledger *ledger, uint64_t session)
{
    int line = ledger_find_line(ledger, 0);

    if (line < 0)
        return -EAGAIN;
    ledger_clear(ledger, line);
    atomic_store(&ledger->rules->sessions[line], session);
    return 0;
}

int ledger_take_first(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size,
                      uint64_t limit)
{
    enum { TRIES = 100 }; // a worker needs less to withdraw, unless it means harm
    enum verdict verdict = VERDICT_CONTENDED;
    int line = ledger_find_line(ledger, session);

    if (line < 0 || device >= LEDGER_DEVICES)
        return -EINVAL;
    if (size > limit || size > LEDGER_LINE_MOST)
        return -ENOSPC;
    atomic_store(&ledger->rules->trying[device], size);
    for (int i = 0; i < TRIES && verdict == VERDICT_CONTENDED; i++)
        verdict = ledger_judge(ledger, device, size, limit);
    if (verdict == VERDICT_FITS)
        atomic_fetch_add(&ledger->rules->charged[device][line], size);
    atomic_store(&ledger->rules->trying[device], 0);
    return verdict == VERDICT_FITS ? 0 : verdict == VERDICT_OVER ? -ENOSPC : -EBUSY;
}

void ledger_charge(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size)
{
    int line = ledger_find_line(ledger, session);

    if (line >= 0 && device < LEDGER_DEVICES)
        atomic_fetch_add(&ledger->rules->charged[device][line], size);
}

void ledger_keep_lines(struct ledger *ledger,
                       bool (*is_kept)(const void *argument, uint64_t session),
                       const void *argument)
{
    for (int i = 0; i < LEDGER_LINES; i++) {
        uint64_t session = atomic_load(&ledger->rules->sessions[i]);
        if (session && !is_kept(argument, session))
            ledger_close_line(ledger, session);
    }
}

void ledger_close_line(struct ledger *ledger, uint64_t session)
{
    int line = ledger_find_line(ledger, session);

    if (line < 0)
        return;
    ledger_clear(ledger, line);
    atomic_store(&ledger->rules->sessions[line], 0);
}

void ledger_set_quota(struct ledger *ledger, unsigned device, uint64_t room)
{
    atomic_store(&ledger->rules->room[device], room);
}

uint64_t ledger_shrink_quota(struct ledger *ledger, unsigned device)
{
    atomic_store(&ledger->rules->room[device], 0);
    uint64_t room = sum_claimed(ledger, device);
    atomic_store(&ledger->rules->room[device], room);
    return room;
}

void ledger_limit_images(struct ledger *ledger, uint64_t limit)
{
    atomic_store(&ledger->rules->room[LEDGER_IMAGES], limit);
}

void ledger_set_rate(struct ledger *ledger, enum throttle_direction direction, uint64_t rate)
{
    atomic_store(&ledger->rules->network.rate[direction], rate);
}

struct throttle ledger_throttle(const struct ledger *ledger)
{
    return (struct throttle){.rates = &ledger->rules->network, .counts = &ledger->words->network};
}

// ---- the worker's side ----

static void ledger_change(struct ledger *ledger, int line, unsigned count, uint64_t difference)
{
    SCOPED_LOCK(&ledger->changing);

    atomic_fetch_add(&ledger->words->changes[line], 1);
    atomic_fetch_add(&ledger->words->counts[count].used[line], difference);
}

static bool is_first_to_try(const struct ledger *ledger, int line, unsigned count)
{
    for (int i = 0; i < line; i++)
        if (atomic_load(&ledger->words->counts[count].trying[i]))
            return false;
    return true;
}

static bool take(struct ledger *ledger, int line, unsigned count, uint64_t size, uint64_t limit)
{
    // Another worker of the lease that is stopped in the middle of a call holds this one up for so
    // long.
    enum { WAIT_MS = 2000 };
    _Atomic uint64_t *trying = &ledger->words->counts[count].trying[line];
    enum verdict verdict = VERDICT_CONTENDED;
    int64_t deadline = 0;

    if (size > limit || size > LEDGER_LINE_MOST)
        return false;
    SCOPED_LOCK(&ledger->taking);
    for (;;) {
        atomic_store(trying, size);
        verdict = ledger_judge(ledger, count, size, limit);
        if (verdict != VERDICT_CONTENDED || (deadline && clock_ms() > deadline))
            break;
        deadline = deadline ? deadline : clock_ms() + WAIT_MS;
        do {
            if (!is_first_to_try(ledger, line, count))
                atomic_store(trying, 0);
            sched_yield();
        } while (!is_first_to_try(ledger, line, count) && clock_ms() <= deadline);
    }
    if (verdict == VERDICT_FITS)
        ledger_change(ledger, line, count, size);
    atomic_store(trying, 0);
    return verdict == VERDICT_FITS;
}

bool ledger_take(struct ledger *ledger, int line, unsigned device, uint64_t size, uint64_t limit)
{
    return device < LEDGER_DEVICES && take(ledger, line, device, size, limit);
}

bool ledger_lacks_quota(const struct ledger *ledger, unsigned device, uint64_t size, uint64_t limit)
{
    return device < LEDGER_DEVICES && ledger_fits(ledger_sum_used(ledger, device), size, limit);
}

bool ledger_has_quota(const struct ledger *ledger, unsigned device)
{
    return device < LEDGER_DEVICES && atomic_load(&ledger->rules->room[device]) != UINT64_MAX;
}

void ledger_add(struct ledger *ledger, int line, unsigned device, uint64_t size)
{
    if (device < LEDGER_DEVICES)
        ledger_change(ledger, line, device, size);
}

void ledger_give(struct ledger *ledger, int line, unsigned device, uint64_t size)
{
    if (device < LEDGER_DEVICES)
        ledger_change(ledger, line, device, -size);
}

bool ledger_take_images(struct ledger *ledger, int line, uint64_t size)
{
    return take(ledger, line, LEDGER_IMAGES, size, UINT64_MAX);
}

void ledger_give_images(struct ledger *ledger, int line, uint64_t size)
{
    ledger_change(ledger, line, LEDGER_IMAGES, -size);
}

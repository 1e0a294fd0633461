// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/faults.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/simulation/box_displaced.h"
#include "tests/simulation/box_faults.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/replicas.h"
#include "tests/simulation/simulated_box.h"
#include "tests/simulation/stepped_log.h"
#include "tests/simulation/users.h"
#include "tests/simulation/virtual_disk.h"

struct fault {
    enum fault_kind kind;
    size_t number;
    struct dice dice;
};

uint64_t faults_struck;
static uint64_t kinds_struck; // a bit for each
static size_t fault_count;
static bool healed;

static const char *const names[] = {
#define FAULT_NAME_(name, weight) #name,
    FAULT_KINDS(FAULT_NAME_)
#undef FAULT_NAME_
};
static const unsigned weights[] = {
#define FAULT_WEIGHT_(name, weight) weight,
    FAULT_KINDS(FAULT_WEIGHT_)
#undef FAULT_WEIGHT_
};

const char *fault_kind_name(enum fault_kind kind)
{
    return names[kind];
}

// ---- the broker ----

static int64_t pause_of(struct fault *fault)
{
    return dice_chance(&fault->dice, 300) ? dice_between(&fault->dice, 10 * SECOND, 3 * MINUTE)
                                          : dice_between(&fault->dice, 100 * MS, 5 * SECOND);
}

static void strike_broker_dies_at_point(struct fault *fault)
{
    broker_process_plan_death((unsigned)dice_between(&fault->dice, 1, 60));
}

static void strike_broker_dies_at_write(struct fault *fault)
{
    disk_plan_fault(DISK_CRASH, (unsigned)dice_between(&fault->dice, 1, 300));
}

static void strike_broker_killed(struct fault *fault)
{
    broker_process_kill(dice_chance(&fault->dice, 500), pause_of(fault));
}

static void strike_broker_stops(struct fault *fault)
{
    broker_process_stop();
    world_after(NULL, pause_of(fault), broker_process_start, NULL);
}

static void strike_point_fails(struct fault *fault)
{
    static const int errors[] = {-EIO, -ENOSPC, -ENOMEM};

    broker_process_plan_failure((unsigned)dice_between(&fault->dice, 1, 60),
                                errors[dice_below(&fault->dice, 3)]);
}

static void strike_broker_clock_jumps(struct fault *fault)
{
    int64_t most = dice_chance(&fault->dice, 500) ? 10 * SECOND : 60 * MINUTE;

    broker_host.wall_offset += dice_between(&fault->dice, -most, most);
    world_trace("the broker's clock jumps");
}

static void strike_broker_hangs(struct fault *fault)
{
    world_hold(&broker_host, dice_between(&fault->dice, SECOND, MINUTE));
}

// ---- its disk ----

static void strike_write_fails(struct fault *fault)
{
    disk_plan_fault(DISK_WRITE_FAILS, (unsigned)dice_between(&fault->dice, 1, 300));
}

static void strike_read_fails(struct fault *fault)
{
    disk_plan_fault(DISK_READ_FAILS, (unsigned)dice_between(&fault->dice, 1, 100));
}

static void strike_sync_fails(struct fault *fault)
{
    disk_plan_fault(DISK_SYNC_FAILS, (unsigned)dice_between(&fault->dice, 1, 10));
}

static void disk_has_room_again(void *unused)
{
    (void)unused;
    disk_set_full(false);
}

static void strike_disk_full(struct fault *fault)
{
    disk_set_full(true);
    world_after(NULL, dice_between(&fault->dice, SECOND, 3 * MINUTE), disk_has_room_again, NULL);
}

static void syncs_fast_again(void *unused)
{
    (void)unused;
    stepped_log_slow(20 * MS);
}

static void strike_syncs_slow(struct fault *fault)
{
    stepped_log_slow(dice_between(&fault->dice, SECOND, 15 * SECOND));
    world_after(NULL, dice_between(&fault->dice, SECOND, 2 * MINUTE), syncs_fast_again, NULL);
}

static void strike_majority_lost(struct fault *fault)
{
    replicas_lose_majority(dice_between(&fault->dice, SECOND, 40 * SECOND));
}

static void strike_database_copied(struct fault *fault)
{
    (void)fault;
    if (broker_host.up)
        disk_copy();
}

// Restores a copy that is a few seconds or minutes old, or any earlier one.
static void on_restore(void *argument)
{
    struct fault *fault = argument;
    unsigned copies = disk_copies();

    if (!healed && copies) {
        broker_process_plan_restore(dice_chance(&fault->dice, 700)
                                        ? copies - 1
                                        : (unsigned)dice_below(&fault->dice, copies));
        broker_process_kill(dice_chance(&fault->dice, 500), pause_of(fault));
    }
    free(fault);
}

static void strike_database_restored(struct fault *fault)
{
    struct fault *copy = malloc(sizeof(*copy));

    if (!copy)
        abort();
    *copy = *fault;
    if (broker_host.up)
        disk_copy();
    world_after(NULL, dice_between(&copy->dice, SECOND, MINUTE), on_restore, copy);
}

// ---- boxes ----

static struct simulated_box *some_box(struct fault *fault)
{
    return &boxes[dice_below(&fault->dice, box_count)];
}

static void box_return(void *argument)
{
    struct simulated_box *box = argument;

    world_after(&box->host, 0, box_start, box);
}

static void box_down(struct fault *fault, bool power)
{
    struct simulated_box *box = some_box(fault);

    box_crash(box, power);
    world_after(NULL, pause_of(fault), box_return, box);
}

static void strike_box_killed(struct fault *fault)
{
    box_down(fault, false);
}

static void strike_box_loses_power(struct fault *fault)
{
    box_down(fault, true);
}

// Within the tolerance of tickets: a box whose clock is wrong by more takes none.
static void strike_box_clock_jumps(struct fault *fault)
{
    some_box(fault)->host.wall_offset = dice_between(&fault->dice, -12 * SECOND, 12 * SECOND);
}

static void box_not_stuck(void *argument)
{
    ((struct simulated_box *)argument)->stuck = false;
}

static void strike_sessions_stuck(struct fault *fault)
{
    struct simulated_box *box = some_box(fault);

    box->stuck = true;
    world_after(NULL, dice_between(&fault->dice, SECOND, 3 * MINUTE), box_not_stuck, box);
}

static void strike_programs_idle(struct fault *fault)
{
    box_begin_idle(some_box(fault));
}

static void strike_box_stops(struct fault *fault)
{
    struct simulated_box *box = some_box(fault);

    box_stop(box);
    world_after(NULL, pause_of(fault), box_return, box);
}

static void box_takes_sessions_again(void *argument)
{
    box_take_sessions(argument, true);
}

static void strike_box_takes_no_sessions(struct fault *fault)
{
    struct simulated_box *box = some_box(fault);

    box_take_sessions(box, false);
    world_after(NULL, dice_between(&fault->dice, SECOND, 2 * MINUTE), box_takes_sessions_again,
                box);
}

static void strike_gpu_faulty(struct fault *fault)
{
    box_break_gpu(some_box(fault), &fault->dice);
}

static void strike_session_fails(struct fault *fault)
{
    box_break_session(some_box(fault));
}

static void answers_are_true(void *argument)
{
    ((struct simulated_box *)argument)->forged = false;
}

static void strike_answers_forged(struct fault *fault)
{
    struct simulated_box *box = some_box(fault);

    box->forged = true;
    world_after(NULL, dice_between(&fault->dice, SECOND, MINUTE), answers_are_true, box);
}

// ---- links ----

static void link_whole(void *argument)
{
    struct link *link = argument;

    link->cut_there = link->cut_back = false;
    link->lost = 0;
    link->most = 5 * MS;
}

static void cut(struct fault *fault, struct link *link, bool there, bool back)
{
    link->cut_there |= there;
    link->cut_back |= back;
    world_trace("link of %s is cut%s%s", link->name, there ? " there" : "", back ? " back" : "");
    world_after(NULL,
                dice_chance(&fault->dice, 500)
                    ? dice_between(&fault->dice, SECOND, 20 * SECOND)
                    : dice_between(&fault->dice, 20 * SECOND, 3 * MINUTE),
                link_whole, link);
}

static void lose(struct fault *fault, struct link *link)
{
    link->lost = (unsigned)dice_between(&fault->dice, 20, 400);
    world_trace("link of %s loses messages", link->name);
    world_after(NULL, dice_between(&fault->dice, SECOND, 3 * MINUTE), link_whole, link);
}

static void strike_link_cut(struct fault *fault)
{
    cut(fault, &some_box(fault)->link, true, true);
}

static void strike_link_half_open(struct fault *fault)
{
    bool there = dice_chance(&fault->dice, 500);

    cut(fault, &some_box(fault)->link, there, !there);
}

static void strike_link_lossy(struct fault *fault)
{
    lose(fault, &some_box(fault)->link);
}

static void strike_link_slow(struct fault *fault)
{
    struct link *link = &some_box(fault)->link;

    link->most = dice_between(&fault->dice, 100 * MS, 20 * SECOND);
    world_trace("link of %s is slow", link->name);
    world_after(NULL, dice_between(&fault->dice, SECOND, 3 * MINUTE), link_whole, link);
}

static void strike_user_link_cut(struct fault *fault)
{
    unsigned kind = (unsigned)dice_below(&fault->dice, 3);

    cut(fault, users_link(dice_roll(&fault->dice)), kind != 0, kind != 1);
}

static void strike_user_link_lossy(struct fault *fault)
{
    lose(fault, users_link(dice_roll(&fault->dice)));
}

// ---- the plan ----

static void (*const strikes[])(struct fault *) = {
#define FAULT_STRIKE_(name, weight) strike_##name,
    FAULT_KINDS(FAULT_STRIKE_)
#undef FAULT_STRIKE_
};

static void on_fault(void *argument)
{
    struct fault *fault = argument;

    if (!healed) {
        world_trace("fault %zu: %s", fault->number, names[fault->kind]);
        faults_struck++;
        kinds_struck |= UINT64_C(1) << fault->kind;
        strikes[fault->kind](fault);
    }
    free(fault);
}

int faults_kinds_struck(void)
{
    return __builtin_popcountll(kinds_struck);
}

static enum fault_kind draw_kind(struct dice *dice, const bool *enabled)
{
    unsigned sum = 0;
    int kind;

    for (int i = 0; i < FAULT_KIND_COUNT; i++)
        sum += enabled[i] ? weights[i] : 0;
    sum = (unsigned)dice_below(dice, sum);
    for (kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        if (enabled[kind] && sum < weights[kind])
            break;
        sum -= enabled[kind] ? weights[kind] : 0;
    }
    return (enum fault_kind)kind;
}

void faults_set_up(uint64_t seed, int64_t minutes, bool dense, const struct fault_filter *without)
{
    struct dice dice = dice_of(seed, "faults");
    bool enabled[FAULT_KIND_COUNT];
    int64_t pause = dice_between(&dice, 5 * SECOND, 2 * MINUTE), at = 0;

    for (int i = 0; i < FAULT_KIND_COUNT; i++)
        enabled[i] = dice_chance(&dice, 500) || dense;
    enabled[dice_below(&dice, FAULT_KIND_COUNT)] = true;
    if (dense)
        pause = dice_between(&dice, SECOND, 10 * SECOND);
    while ((at += dice_between(&dice, 0, 2 * pause)) < minutes * MINUTE &&
           fault_count < FAULTS_MAX) {
        struct fault *fault = malloc(sizeof(*fault));
        if (!fault)
            abort();
        *fault = (struct fault){.kind = draw_kind(&dice, enabled), .number = fault_count++};
        fault->dice.state = dice_roll(&dice);
        if (without->kinds[fault->kind] || without->single[fault->number])
            free(fault);
        else
            world_after(NULL, at, on_fault, fault);
    }
}

void faults_heal(void)
{
    healed = true;
    world_trace("all faults end");
    disk_set_full(false);
    disk_clear_faults();
    stepped_log_slow(20 * MS);
    replicas_heal();
    broker_process_plan_death(0);
    broker_process_plan_failure(0, 0);
    for (unsigned i = 0; i < box_count; i++) {
        link_whole(&boxes[i].link);
        box_mend(&boxes[i]);
        box_return(&boxes[i]);
    }
    users_heal();
    broker_host.wall_offset = 0;
    if (!broker_host.up)
        world_after(NULL, SECOND, broker_process_start, NULL);
}

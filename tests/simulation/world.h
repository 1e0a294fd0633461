// SPDX-License-Identifier: BSD-3-Clause
// A simulated world: virtual time, hosts with clocks of their own, seeded dice, and a queue of
// events. All of it runs in one thread, and a seed decides everything.
#ifndef RGPU_TEST_WORLD_H
#define RGPU_TEST_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)

// ---- dice ----

struct dice {
    uint64_t state;
};
struct dice dice_of(uint64_t seed, const char *purpose);
uint64_t dice_roll(struct dice *dice);
// Returns a number below COUNT.
uint64_t dice_below(struct dice *dice, uint64_t count);
// Returns a number from LEAST to MOST.
int64_t dice_between(struct dice *dice, int64_t least, int64_t most);
// Returns true in PERMILLE of 1000 cases.
bool dice_chance(struct dice *dice, unsigned permille);

// ---- hosts and time ----

struct host {
    char name[32];
    bool up;
    unsigned life; // increases when the host's process dies: its events are then void
    int64_t wall_offset, boot_offset; // nanoseconds
    double drift;                     // relative
    int64_t held_until;
    struct dice random; // of getrandom()
};

// Host whose code runs, or NULL: the clocks then are those of the world.
extern struct host *world_host;
extern int64_t world_now; // nanoseconds since the world began
extern uint64_t world_seed;
extern bool world_verbose;
extern char world_circumstance[256]; // said with a broken promise, or ""

int64_t world_wall_seconds(void);
// A host's clock of CLOCK_REALTIME in nanoseconds.
int64_t host_wall_ns(const struct host *host);

typedef void world_event(void *argument);
struct planned;
// Calls FUNCTION after DELAY nanoseconds in the name of HOST, unless its process has died by then.
// HOST NULL: an event of the world.
struct planned *world_after(struct host *host, int64_t delay, world_event *function,
                            void *argument);
// The event will not happen. Only before it has happened.
void world_cancel(struct planned *event);
// The host stands still for DURATION: its events, and calls into it, come later.
void world_hold(struct host *host, int64_t duration);
// Runs events until UNTIL. ENTER runs one event; it may leave the host's code by longjmp.
typedef void world_enter(struct host *host, world_event *function, void *argument);
void world_run(int64_t until, world_enter *enter, void (*after_each)(void));
extern uint64_t world_events;

// ---- reports ----

__attribute__((format(printf, 1, 2))) void world_trace(const char *format, ...);
// Reports that a promise is broken, with the seed, and ends the process.
__attribute__((format(printf, 1, 2), noreturn)) void world_broken(const char *format, ...);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct host *world_host;
int64_t world_now;
uint64_t world_seed, world_events;
char world_circumstance[256];
bool world_verbose;

// ---- dice ----

uint64_t dice_roll(struct dice *dice)
{
    uint64_t mixed = dice->state += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

struct dice dice_of(uint64_t seed, const char *purpose)
{
    struct dice dice = {.state = seed};

    for (; *purpose; purpose++)
        dice.state = dice_roll(&dice) ^ (uint64_t)(unsigned char)*purpose;
    return dice;
}

uint64_t dice_below(struct dice *dice, uint64_t count)
{
    return dice_roll(dice) % count;
}

int64_t dice_between(struct dice *dice, int64_t least, int64_t most)
{
    return least + (int64_t)dice_below(dice, (uint64_t)(most - least) + 1);
}

bool dice_chance(struct dice *dice, unsigned permille)
{
    return dice_below(dice, 1000) < permille;
}

// ---- events ----

struct planned {
    int64_t at;
    uint64_t order; // of two events at one time the one that was planned first is first
    struct host *host;
    unsigned life;
    world_event *function; // NULL: cancelled
    void *argument;
};

static struct planned **heap;
static size_t heap_count, heap_room;
static uint64_t next_order;

static bool comes_before(const struct planned *a, const struct planned *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_push(struct planned *event)
{
    size_t at = heap_count++;

    if (heap_count > heap_room) {
        heap_room = heap_room ? heap_room * 2 : 1024;
        heap = realloc(heap, heap_room * sizeof(*heap));
        if (!heap)
            abort();
    }
    for (; at > 0 && comes_before(event, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = event;
}

static struct planned *heap_pop(void)
{
    struct planned *first = heap[0], *last = heap[--heap_count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < heap_count) {
        if (child + 1 < heap_count && comes_before(heap[child + 1], heap[child]))
            child++;
        if (!comes_before(heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    if (heap_count)
        heap[at] = last;
    return first;
}

struct planned *world_after(struct host *host, int64_t delay, world_event *function, void *argument)
{
    struct planned *event = malloc(sizeof(*event));

    if (!event)
        abort();
    *event = (struct planned){.at = world_now + (delay > 0 ? delay : 0),
                              .order = next_order++,
                              .host = host,
                              .life = host ? host->life : 0,
                              .function = function,
                              .argument = argument};
    heap_push(event);
    return event;
}

void world_cancel(struct planned *event)
{
    event->function = NULL;
}

void world_hold(struct host *host, int64_t duration)
{
    if (host->held_until < world_now + duration)
        host->held_until = world_now + duration;
}

// Returns true if the event's host stands still: the event is planned again for later.
static bool is_held(struct planned *event)
{
    if (!event->host || event->host->held_until <= event->at)
        return false;
    event->at = event->host->held_until;
    heap_push(event);
    return true;
}

void world_run(int64_t until, world_enter *enter, void (*after_each)(void))
{
    while (heap_count && heap[0]->at <= until) {
        struct planned *event = heap_pop();
        bool valid = event->function && (!event->host || event->host->life == event->life);

        world_now = event->at;
        if (valid && is_held(event))
            continue;
        if (valid) {
            world_events++;
            enter(event->host, event->function, event->argument);
            after_each();
        }
        free(event);
    }
    if (world_now < until)
        world_now = until;
}

// ---- reports ----

static void put_line(FILE *out, const char *format, va_list arguments)
{
    fprintf(out, "%12.6f %-8s ", (double)world_now / SECOND,
            world_host ? world_host->name : "world");
    vfprintf(out, format, arguments);
    fputc('\n', out);
}

void world_trace(const char *format, ...)
{
    va_list arguments;

    if (!world_verbose)
        return;
    va_start(arguments, format);
    put_line(stdout, format, arguments);
    va_end(arguments);
}

void world_broken(const char *format, ...)
{
    va_list arguments;

    printf("BROKEN seed=%llu commit=%s: ", (unsigned long long)world_seed,
           getenv("COMMIT") ? getenv("COMMIT") : "?");
    if (*world_circumstance)
        printf("%s: ", world_circumstance);
    va_start(arguments, format);
    put_line(stdout, format, arguments);
    va_end(arguments);
    fflush(stdout);
    _exit(1);
}

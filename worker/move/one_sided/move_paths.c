// SPDX-License-Identifier: BSD-3-Clause
#include "worker/move/one_sided/move_paths.h"

#include <string.h>

#include "common/clock.h"
#include "proto/wire.h"
#include "worker/session.h"
#include "worker/told_paths.h"
#include "worker_serve.h"

enum {
    RUN_LEAST = 4,             // moves that show what one takes while others are under way
    RUN_MOST = 16,             // after which their time is taken
    DIRECT_USUALLY = 64 << 10, // bytes, where nothing is known
};

static struct path_table table;
static _Atomic unsigned forced; // PATH_BITs; 0: none
static uint64_t moves_ever;

// Moves of one kind by one path that follow each other, by the kind.
static struct move_run {
    bool any;
    struct path_place place;
    enum path path;
    uint64_t began, before;
    unsigned count;
} runs[2];

void move_paths_start(void)
{
    struct wire_paths head;
    struct path_kept kept;
    size_t at = sizeof(head);

    if (session.paths_size < sizeof(head))
        return;
    memcpy(&head, session.paths, sizeof(head));
    forced = head.forced;
    for (; at + sizeof(kept) <= session.paths_size; at += sizeof(kept)) {
        memcpy(&kept, session.paths + at, sizeof(kept));
        if (!strncmp(kept.transport, session.transport, sizeof(kept.transport)) &&
            kept.row.use >= PATH_MOVE_TO)
            path_learn(&table, &kept.row);
    }
}

// What the program's environment says comes before what the box does.
void serve_paths_forced(struct serve *serve, const struct args_paths_forced *args)
{
    forced = args->paths;
}

enum path move_path_choose(struct move_path *way, const struct move_path_wish *wish)
{
    unsigned usable = wish->usable & forced ? wish->usable & forced : wish->usable;
    bool choice = usable & (usable - 1);
    enum path usual = wish->size >= DIRECT_USUALLY ? PATH_DIRECT : PATH_ONE_SIDED;

    *way = (struct move_path){
        .place = {.use = wish->kind == MOVE_TO_DEVICE ? PATH_MOVE_TO : PATH_MOVE_FROM,
                  .pattern = wish->alone ? PATH_LATENCY : PATH_BANDWIDTH,
                  .size = path_size_class(wish->size)},
        .path = (enum path)__builtin_ctz(usable),
        .measured = choice && !wish->rows,
        .number = ++moves_ever,
    };
    if (!choice)
        return way->path;
    int settled = path_settled(&table, way->place, usable);
    way->path = settled >= 0
                    ? (enum path)settled
                    : path_choose(&table, way->place, usable,
                                  usable >> usual & 1 ? usual : PATH_ONE_SIDED, way->measured);
    // Behind the choice, which settles what the box has known.
    way->open = way->measured && path_settled(&table, way->place, usable) < 0;
    return way->path;
}

void move_path_give_up(struct move_path *way)
{
    way->path = PATH_ONE_SIDED;
    way->measured = way->open = false;
}

void move_path_begins(struct move_path *way)
{
    way->began = clock_ns();
}

static void take(struct path_place place, enum path path, uint64_t ns)
{
    struct path_row row;

    if (path_take(&table, place, path, ns) && path_row_of(&table, place, &row))
        told_paths_take(&row);
}

// One more of the run, or the first of another one, which shows from when on the rest is timed.
static void count_in_run(struct move_run *run, const struct move_path *way, uint64_t now)
{
    if (run->any && run->path == way->path && run->place.size == way->place.size &&
        run->place.pattern == way->place.pattern) {
        run->count++;
        run->before += way->before;
        return;
    }
    *run = (struct move_run){
        .any = way->measured, .place = way->place, .path = way->path, .began = now};
}

void move_path_ended(const struct move_path *way, bool goes_on)
{
    struct move_run *run = &runs[way->place.use == PATH_MOVE_FROM];
    uint64_t now = clock_ns();

    if (way->place.pattern == PATH_LATENCY) {
        if (way->measured && way->number == moves_ever)
            take(way->place, way->path, now - way->began + way->before);
        run->any = false;
        return;
    }
    count_in_run(run, way, now);
    if (run->count == RUN_MOST || (!goes_on && run->count >= RUN_LEAST)) {
        take(run->place, run->path, (now - run->began + run->before) / run->count);
        run->any = false;
    }
    run->any &= goes_on;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/parts/timed_paths.h"

#include "common/base/clock.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/told_paths.h"
#include "worker_serve.h"

enum {
    RUN_LEAST = 4, // moves that show what one takes while others are under way
    RUN_MOST = 16, // after which their time is taken
};

// The program's environment takes precedence over the box's settings.
void serve_paths_forced(struct serve *serve, const struct args_paths_forced *args)
{
    session.paths_forced = args->paths;
}

enum path timed_path_choose(struct timed_paths *paths, struct timed_path *way,
                            const struct timed_path_wish *wish)
{
    unsigned forced = wish->usable & session.paths_forced, usable = forced ? forced : wish->usable;
    bool choice = usable & (usable - 1);

    *way = (struct timed_path){
        .place = {.use = (enum path_use)(paths->first_use + wish->kind),
                  .pattern = wish->alone ? PATH_LATENCY : PATH_BANDWIDTH,
                  .size = path_size_class(wish->size)},
        .path = (enum path)__builtin_ctz(usable),
        .measured = choice && !wish->unlike,
        .number = ++paths->ever,
    };
    if (!choice)
        return way->path;
    int settled = path_settled(&paths->table, way->place, usable);
    way->path = settled >= 0
                    ? (enum path)settled
                    : path_choose(&paths->table, way->place, usable, wish->usual, way->measured);
    // After the choice, which settles a path that the box already knew.
    way->open = way->measured && path_settled(&paths->table, way->place, usable) < 0;
    return way->path;
}

void timed_path_give_up(struct timed_path *way, enum path path)
{
    way->path = path;
    way->measured = way->open = false;
}

void timed_path_begins(struct timed_path *way)
{
    way->began = clock_ns();
}

static void timed_paths_take(struct timed_paths *paths, struct path_place place, enum path path,
                             uint64_t ns)
{
    struct path_row row;

    if (path_take(&paths->table, place, path, ns) && path_row_of(&paths->table, place, &row))
        told_paths_of_box(paths->other, paths->transport, &row);
}

// One more of the run, or the first of another one, which shows from when on the rest is timed.
static void count_in_run(struct timed_run *run, const struct timed_path *way, uint64_t now)
{
    if (run->any && run->path == way->path && run->place.size == way->place.size &&
        run->place.pattern == way->place.pattern) {
        run->count++;
        run->before += way->before;
        return;
    }
    *run = (struct timed_run){
        .any = way->measured, .place = way->place, .path = way->path, .began = now};
}

void timed_path_ended(struct timed_paths *paths, const struct timed_path *way, bool goes_on)
{
    struct timed_run *run = &paths->runs[way->place.use - paths->first_use];
    uint64_t now = clock_ns();

    if (way->place.pattern == PATH_LATENCY) {
        if (way->measured && way->number == paths->ever)
            timed_paths_take(paths, way->place, way->path, now - way->began + way->before);
        run->any = false;
        return;
    }
    count_in_run(run, way, now);
    if (run->count == RUN_MOST || (!goes_on && run->count >= RUN_LEAST)) {
        timed_paths_take(paths, run->place, run->path,
                         (now - run->began + run->before) / run->count);
        run->any = false;
    }
    run->any &= goes_on;
}

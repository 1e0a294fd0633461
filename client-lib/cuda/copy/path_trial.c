// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/copy/path_trial.h"

#include <string.h>

#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/report/stopwatch.h"
#include "client-lib/cuda/session/known_paths.h"
#include "cuda_ops.h"

enum {
    LOOK_EVERY = 16, // copies of a settled choice for each one that is timed
    ROW_LEAST = 4,   // copies that suffice to time a row of overlapping copies
    ROW_MOST = 256,  // after which the program seems to wait for none of them
};

// The row of copies of one kind that this thread has requested and not yet waited for.
static __thread struct path_trial {
    struct box_session *session; // NULL: none yet
    CUstream stream;
    struct path_place place;
    enum path path;
    bool asking;  // within a copy that had a choice of paths
    bool awaited; // within a call that waits for exactly these copies
    unsigned count;
    uint64_t began;    // ns; 0: they are not timed
    uint64_t requests; // the session's request count after the last copy
} mine;

// The session that this thread found idle. It is idle while its request count stays the same.
static __thread struct {
    const struct box_session *session;
    uint64_t requests;
} quiet;

// Number of measurable choices of this thread: one in LOOK_EVERY is timed even if it is settled.
static __thread unsigned looks;

static uint64_t requests_of(const struct box_session *session)
{
    return atomic_load_explicit(&((struct box_session *)session)->requests, memory_order_relaxed);
}

static bool is_quiet(const struct box_session *session)
{
    return quiet.session == session && quiet.requests == requests_of(session);
}

static void note_quiet(const struct box_session *session)
{
    quiet.session = session;
    quiet.requests = requests_of(session);
}

// Returns true if a copy of PLACE continues the row of copies that is being timed.
static bool path_trial_goes_on(const struct box_session *session, const struct path_wish *wish,
                               struct path_place place)
{
    return mine.session == session && mine.stream == wish->stream && mine.count &&
           mine.place.use == place.use && mine.place.pattern == place.pattern &&
           mine.place.size == place.size && mine.requests == requests_of(session) &&
           (wish->usable >> mine.path & 1);
}

static enum path begin_anew(struct box_session *session, const struct path_wish *wish,
                            struct path_place place, bool measurable)
{
    bool open, looks_now = measurable && looks++ % LOOK_EVERY == 0;

    mine.session = session;
    mine.stream = wish->stream;
    mine.place = place;
    mine.count = 0;
    mine.path = known_path(session, place, wish->usable, wish->usual, measurable, &open);
    mine.began = (open && measurable) || looks_now ? stopwatch_ns() : 0;
    return mine.path;
}

enum path path_begin(struct box_session *session, const struct path_wish *wish)
{
    unsigned forced = session->paths->allowed;
    unsigned allowed = wish->usable &
                       (forced & PATH_BY_DEVICE ? forced | PATH_BIT(PATH_ONE_SIDED) : forced);
    struct path_wish asked = *wish;

    asked.usable = allowed ? allowed : wish->usable;
    mine.asking = asked.usable & (asked.usable - 1);
    if (!mine.asking)
        return (enum path)__builtin_ctz(asked.usable);
    bool alone = is_quiet(session);
    struct path_place place = {.use = wish->use,
                               .pattern = alone || wish->brings ? PATH_LATENCY : PATH_BANDWIDTH,
                               .size = path_size_class(wish->size)};
    if (place.pattern == PATH_BANDWIDTH && path_trial_goes_on(session, &asked, place))
        return mine.path;
    return begin_anew(session, &asked, place, alone || place.pattern == PATH_BANDWIDTH);
}

// Records the mean time of the copies of the row, if there were enough of them.
static void end_trial(void)
{
    bool worth = mine.place.pattern == PATH_LATENCY ? mine.count == 1 : mine.count >= ROW_LEAST;

    if (mine.began && worth)
        known_path_took(mine.session, mine.place, mine.path,
                        (stopwatch_ns() - mine.began) / mine.count);
    mine.count = 0;
    mine.began = 0;
}

void path_asked(struct box_session *session, bool complete)
{
    if (mine.asking) {
        mine.asking = false;
        mine.count++;
        mine.requests = requests_of(session);
        if (complete || mine.count == ROW_MOST)
            end_trial();
    }
    if (complete)
        note_quiet(session);
}

void path_wait_begins(CUstream stream, bool all)
{
    if (!mine.session)
        return;
    all |= stream == mine.stream || stream == CU_STREAM_PER_THREAD;
    mine.awaited = all;
    if (all && mine.requests != requests_of(mine.session))
        mine.count = 0;
}

// Sends the settled choices to the box for later sessions. Nothing waits for this or depends on it.
static void path_trial_tell_box(struct box_session *session)
{
    struct path_row rows[PATH_SIZES];
    unsigned count;

    while (session_knows(session, OP_path_rows) && (count = known_paths_news(session, rows))) {
        struct call call = {.session = session, .op = OP_path_rows};
        struct args_path_rows *args = call_reserve(&call, sizeof(*args) + count * sizeof(*rows));
        if (!args)
            return;
        *args = (struct args_path_rows){.bytes = (uint32_t)(count * sizeof(*rows))};
        memcpy(args + 1, rows, count * sizeof(*rows));
        (void)call_post(&call);
    }
}

void path_wait_ended(bool well)
{
    if (!mine.awaited)
        return;
    mine.awaited = false;
    if (!well)
        mine.count = 0;
    if (mine.count)
        end_trial();
    if (known_paths_any_news(mine.session))
        path_trial_tell_box(mine.session);
    note_quiet(mine.session);
}

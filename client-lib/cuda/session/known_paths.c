// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/session/known_paths.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

int known_paths_start(struct box_session *session, unsigned allowed)
{
    session->paths = calloc(1, sizeof(*session->paths));
    if (!session->paths)
        return -ENOMEM;
    session->paths->allowed = allowed;
    return 0;
}

void known_paths_keep(struct box_session *session, const void *section, size_t size)
{
    struct known_paths *paths = session->paths;
    struct wire_paths head;

    if (size < sizeof(head) || paths->kept)
        return;
    memcpy(&head, section, sizeof(head));
    if (!paths->allowed)
        paths->allowed = head.forced;
    size_t count = (size - sizeof(head)) / sizeof(*paths->kept);
    paths->kept = count ? malloc(count * sizeof(*paths->kept)) : NULL;
    if (!paths->kept)
        return;
    memcpy(paths->kept, (const uint8_t *)section + sizeof(head), count * sizeof(*paths->kept));
    paths->kept_count = count;
}

void known_paths_learn(struct box_session *session)
{
    struct known_paths *paths = session->paths;

    for (size_t i = 0; i < paths->kept_count; i++)
        if (session->transport && !strncmp(paths->kept[i].transport, session->transport,
                                           sizeof(paths->kept[i].transport)))
            path_learn(&paths->table, &paths->kept[i].row);
    free(paths->kept);
    paths->kept = NULL;
    paths->kept_count = 0;
}

enum path known_path(struct box_session *session, struct path_place place, unsigned usable,
                     enum path usual, bool trial, bool *open)
{
    struct known_paths *paths = session->paths;
    int settled = path_settled(&paths->table, place, usable);
    enum path path = usable >> usual & 1 ? usual : (enum path)__builtin_ctz(usable);

    *open = settled < 0;
    if (settled >= 0)
        return (enum path)settled;
    if (atomic_flag_test_and_set_explicit(&paths->busy, memory_order_acquire))
        return path;
    path = path_choose(&paths->table, place, usable, usual, trial);
    atomic_flag_clear_explicit(&paths->busy, memory_order_release);
    return path;
}

void known_path_took(struct box_session *session, struct path_place place, enum path path,
                     uint64_t ns)
{
    struct known_paths *paths = session->paths;

    if (atomic_flag_test_and_set_explicit(&paths->busy, memory_order_acquire))
        return;
    if (path_take(&paths->table, place, path, ns)) {
        atomic_fetch_or(&paths->news[place.use][place.pattern], UINT32_C(1) << place.size);
        atomic_store(&paths->any_news, true);
    }
    atomic_flag_clear_explicit(&paths->busy, memory_order_release);
}

static bool known_paths_next_row(struct known_paths *paths, struct path_place place,
                                 struct path_row *row)
{
    while (atomic_flag_test_and_set_explicit(&paths->busy, memory_order_acquire))
        sched_yield();
    bool has = path_row_of(&paths->table, place, row);
    atomic_flag_clear_explicit(&paths->busy, memory_order_release);
    return has;
}

// Returns the settled rows of one use and pattern that were not reported yet.
static unsigned known_paths_collect(struct known_paths *paths, enum path_use use,
                                    enum path_pattern pattern, struct path_row *rows)
{
    uint32_t news = atomic_exchange(&paths->news[use][pattern], 0);
    unsigned count = 0;

    for (; news; news &= news - 1) {
        struct path_place place = {use, pattern, (unsigned)__builtin_ctz(news)};
        count += known_paths_next_row(paths, place, &rows[count]);
    }
    return count;
}

unsigned known_paths_news(struct box_session *session, struct path_row rows[PATH_SIZES])
{
    struct known_paths *paths = session->paths;
    unsigned count = 0;

    for (unsigned i = 0; i < PATH_USES * PATH_PATTERNS && !count; i++)
        count = known_paths_collect(paths, (enum path_use)(i / PATH_PATTERNS),
                                    (enum path_pattern)(i % PATH_PATTERNS), rows);
    return count;
}

bool known_paths_any_news(struct box_session *session)
{
    struct known_paths *paths = session->paths;

    return atomic_load_explicit(&paths->any_news, memory_order_relaxed) &&
           atomic_exchange(&paths->any_news, false);
}

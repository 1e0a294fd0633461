// SPDX-License-Identifier: BSD-3-Clause
// The newest row of each cell waits here for the next report, so that a client that says much fills
// nothing.
#include "daemon/worker/core/told_paths.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "worker_serve.h"

enum { CELLS = PATH_USES * PATH_PATTERNS * PATH_SIZES };

// The known paths to the client's host, or to another box.
struct told_place {
    char other[64], transport[16]; // empty: the client's
    struct path_row rows[CELLS];   // one that has no time is none
    bool any;
    struct told_place *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct told_place client,
    *known = &client; // under the lock; there are no more than boxes that were linked with

static unsigned cell_of(const struct path_row *row)
{
    return ((unsigned)row->use * PATH_PATTERNS + row->pattern) * PATH_SIZES + row->size;
}

// NULL: no memory, and what was found is found again.
static struct told_place *told_paths_find_or_make(const char *other, const char *transport)
{
    struct told_place *at = known;

    while (at && (strcmp(at->other, other) != 0 || strcmp(at->transport, transport) != 0))
        at = at->next;
    if (at || !(at = calloc(1, sizeof(*at))))
        return at;
    snprintf(at->other, sizeof(at->other), "%s", other);
    snprintf(at->transport, sizeof(at->transport), "%s", transport);
    at->next = known;
    return known = at;
}

void told_paths_of_box(const char *other, const char *transport, const struct path_row *row)
{
    SCOPED_LOCK(&lock);
    struct told_place *of = told_paths_find_or_make(other, transport);
    if (!of)
        return;
    of->rows[cell_of(row)] = *row;
    of->any = true;
}

// Ignores rows that cannot be right or are not the client's to report: the loss is the client's
// own.
void serve_path_rows(struct serve *serve, const struct args_path_rows *args)
{
    const uint8_t *at = (const uint8_t *)(args + 1);
    struct path_row row;

    for (uint32_t left = args->bytes; left >= sizeof(row); left -= sizeof(row), at += sizeof(row)) {
        memcpy(&row, at, sizeof(row));
        if (path_row_is_valid(&row) && !path_use_is_workers(row.use))
            told_paths_of_box("", "", &row);
    }
}

static uint32_t told_paths_take(struct told_place *of, struct path_row *out)
{
    uint32_t count = 0;

    SCOPED_LOCK(&lock);
    for (unsigned i = 0; of->any && i < CELLS; i++)
        if (path_row_is_valid(&of->rows[i]))
            out[count++] = of->rows[i];
    memset(of->rows, 0, sizeof(of->rows));
    of->any = false;
    return count;
}

static void report(int supervisor, struct told_place *of, const char *transport)
{
    struct path_row news[CELLS];
    uint32_t count = told_paths_take(of, news);
    struct control_paths message = {.rows = (const uint8_t *)news,
                                    .rows_size = count * (uint32_t)sizeof(*news)};

    if (!count)
        return;
    snprintf(message.transport, sizeof(message.transport), "%s", transport);
    snprintf(message.other, sizeof(message.other), "%s", of->other);
    if (control_send_packet(supervisor, CONTROL_PATHS, &message, -1))
        log_debug("the paths were not taken");
}

// A row that is inserted in front meanwhile is reported next time.
void told_paths_report(int supervisor, const char *transport)
{
    struct told_place *of;
    {
        SCOPED_LOCK(&lock);
        of = known;
    }
    for (; of; of = of->next)
        report(supervisor, of, of == &client ? transport : of->transport);
}

// SPDX-License-Identifier: BSD-3-Clause
// The newest row of each cell waits here for the next report, so that a client that says much fills nothing.
#include "worker/told_paths.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "common/path_table.h"
#include "common/scope.h"
#include "worker_serve.h"

enum { CELLS = PATH_USES * PATH_PATTERNS * PATH_SIZES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct path_row rows[CELLS]; // under the lock; one that has no time is none
static bool any;

static unsigned cell_of(const struct path_row *row)
{
    return ((unsigned)row->use * PATH_PATTERNS + row->pattern) * PATH_SIZES + row->size;
}

// What cannot be right is left out: it is the client's own loss.
void told_paths_take(const struct path_row *row)
{
    if (!path_row_is_valid(row))
        return;
    SCOPED_LOCK(&lock);
    rows[cell_of(row)] = *row;
    any = true;
}

void serve_path_rows(struct serve *serve, const struct args_path_rows *args)
{
    const uint8_t *at = (const uint8_t *)(args + 1);
    struct path_row row;

    for (uint32_t left = args->bytes; left >= sizeof(row); left -= sizeof(row), at += sizeof(row)) {
        memcpy(&row, at, sizeof(row));
        told_paths_take(&row);
    }
}

static uint32_t take(struct path_row *out)
{
    uint32_t count = 0;

    SCOPED_LOCK(&lock);
    for (unsigned i = 0; any && i < CELLS; i++)
        if (path_row_is_valid(&rows[i]))
            out[count++] = rows[i];
    memset(rows, 0, sizeof(rows));
    any = false;
    return count;
}

void told_paths_report(int supervisor, const char *transport)
{
    struct path_row news[CELLS];
    uint32_t count = take(news);
    struct control_paths message = {.rows = (const uint8_t *)news,
                                    .rows_size = count * (uint32_t)sizeof(*news)};

    if (!count)
        return;
    snprintf(message.transport, sizeof(message.transport), "%s", transport);
    if (control_send_packet(supervisor, CONTROL_PATHS, &message, -1))
        log_debug("the paths were not taken");
}

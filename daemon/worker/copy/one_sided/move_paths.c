// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/one_sided/move_paths.h"

#include <string.h>

#include "proto/wire.h"
#include "daemon/worker/core/session.h"

static struct timed_paths paths = {.first_use = PATH_MOVE_TO};

void move_paths_start(void)
{
    struct path_kept kept;
    size_t at = sizeof(struct wire_paths);

    for (; at + sizeof(kept) <= session.paths_size; at += sizeof(kept)) {
        memcpy(&kept, session.paths + at, sizeof(kept));
        if (!strncmp(kept.transport, session.transport, sizeof(kept.transport)) &&
            path_use_is_workers(kept.row.use))
            path_learn(&paths.table, &kept.row);
    }
}

enum path move_path_choose(struct timed_path *way, const struct move_path_wish *wish)
{
    bool large = wish->size >= DIRECT_USUALLY && wish->usable & PATH_BIT(PATH_DIRECT);
    const struct timed_path_wish timed = {.kind = wish->kind,
                                          .size = wish->size,
                                          .alone = wish->alone,
                                          .unlike = wish->rows,
                                          .usable = wish->usable,
                                          .usual = large ? PATH_DIRECT : PATH_ONE_SIDED};

    return timed_path_choose(&paths, way, &timed);
}

void move_path_give_up(struct timed_path *way)
{
    timed_path_give_up(way, PATH_ONE_SIDED);
}

void move_path_ended(const struct timed_path *way, bool goes_on)
{
    timed_path_ended(&paths, way, goes_on);
}

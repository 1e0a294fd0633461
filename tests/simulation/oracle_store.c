// SPDX-License-Identifier: BSD-3-Clause
// Loads a second pool from the broker's database and compares it with the one in memory, column by
// column. A difference would come to light only when the broker restarts.
#include "tests/simulation/oracle_store.h"

#include <stdlib.h>
#include <string.h>

#include "broker/pool/columns.h"
#include "tests/simulation/virtual_disk.h"
#include "tests/simulation/world.h"

static bool is_same(const struct column *column, const void *memory, const void *stored)
{
    struct column_value a = column_get(column, memory), b = column_get(column, stored);
    bool same = a.is_null == b.is_null && !a.text == !b.text &&
                (a.text ? !strcmp(a.text, b.text) : a.number == b.number);

    free(a.owned);
    free(b.owned);
    return same;
}

// LEFT_OUT: names of columns that memory has newer than the database by design.
static void check_columns(const struct column *columns, const void *memory, const void *stored,
                          const char *thing, const char *left_out)
{
    for (const struct column *column = columns; column->name; column++)
        if (!strstr(left_out, column->name) && !is_same(column, memory, stored))
            world_broken("column %s of %s differs between memory and database", column->name,
                         thing);
}

static const struct pool_hold *hold_of(const struct pool_lease *lease, uint32_t ordinal)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].ordinal == ordinal)
            return &lease->holds[i];
    return NULL;
}

static void check_holds(const struct pool_lease *memory, const struct pool_lease *stored)
{
    if (memory->hold_count != stored->hold_count)
        world_broken("lease %s has %zu holds in memory and %zu in the database", memory->id,
                     memory->hold_count, stored->hold_count);
    for (size_t i = 0; i < memory->hold_count; i++) {
        const struct pool_hold *hold = &memory->holds[i], *other = hold_of(stored, hold->ordinal);
        if (!other)
            world_broken("hold %u of lease %s is not in the database", hold->ordinal, memory->id);
        check_columns(hold_columns, hold, other, memory->id, "");
        if (hold_stands(hold) != hold_stands(other) && memory->state != LEASE_ENDING)
            world_broken("hold %u of lease %s differs between memory and database", hold->ordinal,
                         memory->id);
    }
}

static void check_boxes(const struct pool *memory, const struct pool *stored)
{
    if (memory->box_count != stored->box_count)
        world_broken("there are %zu boxes in memory and %zu in the database", memory->box_count,
                     stored->box_count);
    for (size_t i = 0; i < memory->box_count; i++) {
        const struct pool_box *box = memory->boxes[i], *other = pool_find_box(stored, box->name);
        if (!other || box->gpu_count != other->gpu_count)
            world_broken("box %s is not as in the database", box->name);
        check_columns(box_columns, box, other, box->name, "seen registered");
        for (uint32_t j = 0; j < box->gpu_count; j++) {
            const struct pool_gpu *gpu = box->gpus[j], *same = pool_find_gpu(stored, gpu->uuid);
            if (!same)
                world_broken("GPU %s is not in the database", gpu->uuid);
            check_columns(gpu_columns, gpu, same, gpu->uuid, "");
            if (gpu->holders != same->holders || gpu->used != same->used)
                world_broken("the books of GPU %s are not those of the database", gpu->uuid);
        }
    }
}

void oracle_check_store(const struct broker *broker)
{
    struct pool *stored = pool_new();
    const struct pool_lease *lease, *other;

    disk_hold_faults(true);
    if (!stored || store_load(broker->store, stored))
        world_broken("the database cannot be loaded");
    disk_hold_faults(false);
    check_boxes(broker->pool, stored);
    if (broker->pool->lease_count != stored->lease_count)
        world_broken("there are %zu leases in memory and %zu in the database",
                     broker->pool->lease_count, stored->lease_count);
    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        other = pool_find_lease(stored, lease->id);
        if (!other)
            world_broken("lease %s is not in the database", lease->id);
        // A renewal of a lease that waits is not written.
        check_columns(lease_columns, lease, other, lease->id,
                      lease->state == LEASE_QUEUED ? "expires lifetime" : "");
        check_holds(lease, other);
    }
    pool_free(&stored);
}

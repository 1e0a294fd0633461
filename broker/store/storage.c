// SPDX-License-Identifier: BSD-3-Clause
#include "broker/store/storage.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

// A working disk is probed every PROBE_SECONDS, a failed one every second.
enum { PROBE_SECONDS = 10, SILENT_SECONDS = 10 };

static void note(struct storage *storage, enum outcome error)
{
    if (error == OUTCOME_DATABASE_DAMAGED && !storage->broken)
        log_error("the database is damaged: no change is made any more; stop the broker, restore "
                  "the database from a copy, and start it again");
    if (error == OUTCOME_DATABASE_DAMAGED)
        storage->broken = true;
    if (error == OUTCOME_DISK_FULL && !storage->disk_full)
        log_error("the disk is full: leases end and their GPUs come free, nothing else is changed");
    if (error == OUTCOME_DISK_FULL)
        storage->disk_full = true;
    if (error)
        storage->errors++;
    storage->last = error;
}

void storage_init(struct storage *storage, const char *path)
{
    reserve_init(&storage->reserve, path);
    if (reserve_has_margin(&storage->reserve))
        return;
    // Leases must end on a full disk too, and for that the database must be opened.
    reserve_give(&storage->reserve);
    note(storage, OUTCOME_DISK_FULL);
}

void storage_reserve(struct storage *storage)
{
    int error = storage->disk_full ? 0 : reserve_take(&storage->reserve);

    if (error)
        log_warn("no room is kept for the end of leases on a full disk: reserve=%s error=\"%s\"",
                 storage->reserve.path, strerror(-error));
}

void storage_note(struct storage *storage, enum outcome error)
{
    // On a full disk leases can still end, in space that is reserved for that. So a success does
    // not mean that there is space for other changes.
    if (error || !storage->disk_full)
        note(storage, error);
}

// Freed space goes to the reserve first. A small write may succeed because the log's file has
// space, although larger ones would fail.
static enum outcome probe(struct storage *storage, struct store *store)
{
    enum outcome error = outcome_of(reserve_take(&storage->reserve));

    if (!reserve_has_margin(&storage->reserve))
        error = OUTCOME_DISK_FULL;
    else if (error != OUTCOME_DISK_FULL || !storage->disk_full)
        error = store_probe(store, clock_wall_seconds());
    if (!error && storage->disk_full) {
        storage->disk_full = false;
        log_info("the disk has room again");
    }
    note(storage, error);
    return error;
}

bool storage_has_room(struct storage *storage, struct store *store)
{
    return !storage->disk_full || probe(storage, store) == 0;
}

// Returns true if a sync does not return.
static bool storage_is_silent(struct storage *storage, struct store *store)
{
    uint64_t durable = store_durable(store);

    if (durable == store_committed(store) || durable != storage->last_durable) {
        storage->last_durable = durable;
        storage->durable_at = clock_boot_seconds();
    }
    return clock_boot_seconds() - storage->durable_at > SILENT_SECONDS;
}

void storage_watch(struct storage *storage, struct store *store)
{
    double now = clock_boot_seconds();

    if (storage->broken)
        return;
    if (storage_is_silent(storage, store)) {
        storage->last = OUTCOME_DISK_SILENT;
        return;
    }
    if (storage->last == OUTCOME_DISK_SILENT)
        storage->last = OUTCOME_DONE;
    if (now < storage->next_probe)
        return;
    probe(storage, store);
    storage->next_probe = now + (storage->last ? 1 : PROBE_SECONDS);
}

enum outcome storage_state(const struct storage *storage)
{
    if (storage->broken)
        return OUTCOME_DATABASE_DAMAGED;
    if (storage->last == OUTCOME_DONE || storage->last == OUTCOME_DISK_FULL ||
        storage->last == OUTCOME_DISK_SILENT || storage->last == OUTCOME_DATABASE_BUSY)
        return storage->last;
    return OUTCOME_DISK_FAILED;
}

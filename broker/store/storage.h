// SPDX-License-Identifier: BSD-3-Clause
// Tracks the errors of the broker's disk and decides which changes are possible. On a full disk
// leases can end, and all other changes are refused.
#ifndef RGPU_BROKER_STORAGE_H
#define RGPU_BROKER_STORAGE_H

#include <stdbool.h>

#include "broker/pool/reserve.h"
#include "broker/store/store.h"

struct storage {
    struct reserve reserve;
    bool broken; // the database is damaged
    bool disk_full;
    enum outcome last; // outcome of the last change or probe
    uint64_t errors;
    double next_probe, durable_at;
    uint64_t last_durable;
};

// Initializes before the database at PATH is opened. Deletes the reserve (reserve.h) if the disk is
// full.
void storage_init(struct storage *storage, const char *path);
// Creates the reserve. Must be called once the database is open.
void storage_reserve(struct storage *storage);
// Records the outcome of a database change.
void storage_note(struct storage *storage, enum outcome error);
// Returns true if changes are possible. Writes a probe if the disk was full.
bool storage_has_room(struct storage *storage, struct store *store);
// Writes a probe from time to time, so that a full or failing disk is detected early. Must be
// called once a second.
void storage_watch(struct storage *storage, struct store *store);
// Returns OUTCOME_DONE or the reason why the broker is not healthy, for /healthz.
enum outcome storage_state(const struct storage *storage);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Tracks the state of the broker's storage and decides which changes are possible. On a full disk
// leases can end, and nothing else changes.
#ifndef RGPU_BROKER_STORAGE_H
#define RGPU_BROKER_STORAGE_H

#include <stdbool.h>

#include "broker/pool/reserve.h"
#include "broker/store/store.h"

struct storage {
    struct reserve reserve;
    bool broken; // the database is damaged
    bool disk_full;
    enum outcome last; // result of the last change or probe
    uint64_t errors;
    double next_probe, durable_at;
    uint64_t last_durable;
};

// Prepares to open the database at `path`; frees the reserve if the disk is full.
void storage_init(struct storage *storage, const char *path);
// Takes the reserve for the end of leases, once the database is open.
void storage_reserve(struct storage *storage);
// Records the result of a database change.
void storage_note(struct storage *storage, enum outcome error);
// Returns true if changes are possible; probes again if the disk was full.
bool storage_has_room(struct storage *storage, struct store *store);
// Writes a probe from time to time, so that a full or failing disk is detected early.
void storage_watch(struct storage *storage, struct store *store);
// Returns the state for /healthz.
enum outcome storage_state(const struct storage *storage);

#endif

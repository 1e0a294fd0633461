// SPDX-License-Identifier: BSD-3-Clause
// The state of the broker's storage: what is true of it now, and what it means for changes. On a full
// disk leases end, and nothing else is changed.
#ifndef RGPU_BROKER_STORAGE_H
#define RGPU_BROKER_STORAGE_H

#include <stdbool.h>

#include "broker/reserve.h"
#include "broker/store.h"

struct storage {
    struct reserve reserve;
    bool broken; // the database turned out damaged
    bool disk_full;
    enum outcome last; // of the last change or probe
    uint64_t errors;
    double next_probe, durable_at;
    uint64_t last_durable;
};

// Before the database at `path` is opened: makes room for that where there is none.
void storage_init(struct storage *storage, const char *path);
// Takes the room that is kept for the end of leases, once the database is open.
void storage_reserve(struct storage *storage);
// What a change of the database has shown.
void storage_note(struct storage *storage, enum outcome error);
// Looks anew where it was full.
bool storage_has_room(struct storage *storage, struct store *store);
// Now and then writes something, so that a full or failing disk is known before it is needed.
void storage_watch(struct storage *storage, struct store *store);
// As /healthz says it.
enum outcome storage_state(const struct storage *storage);

#endif

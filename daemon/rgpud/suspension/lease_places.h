// SPDX-License-Identifier: BSD-3-Clause
// Tracks moved leases: which GPU of this box each index of a lease is on. Tickets still name the
// earlier GPU. The broker's orders are kept in the state directory and hold after a restart of
// rgpud while the broker is away.
#ifndef RGPU_DAEMON_LEASE_PLACES_H
#define RGPU_DAEMON_LEASE_PLACES_H

#include "daemon/rgpud/box/box.h"

// One GPU of a lease, by its index in the lease.
struct lease_place {
    TAILQ_ENTRY(lease_place) link;
    char lease[128];
    uint32_t ordinal;
    struct box_device *device;      // its target; NULL: the GPU in the ticket
    struct box_device *before;      // its target before the last order
    char refused[48], problem[256]; // the last GPU that it could not move to, and why
    bool of_broker;
    uint64_t save; // number of the write that puts it on disk
};

// Returns the entry for an index of a lease, or NULL if it has not been moved.
struct lease_place *places_find(const struct box *box, const char *lease, uint32_t ordinal);
struct lease_place *places_next(const struct box *box,
                                const struct lease_place *after); // AFTER NULL: returns the first
// Returns the GPU of a lease's index, or NAMED if it has not been moved.
struct box_device *places_device(const struct box *box, const char *lease, uint32_t ordinal,
                                 struct box_device *named);

// Sets the GPU of a lease's index. Returns NULL if memory is out.
struct lease_place *places_put(struct box *box, const char *lease, uint32_t ordinal,
                               struct box_device *device, bool of_broker);
// Restores the earlier GPU, and keeps the refused one and the reason for a report.
void places_fail(struct box *box, struct lease_place *place, const char *problem);
// Deletes an entry, since the broker's list leaves it out.
void places_forget(struct box *box, struct lease_place *place);
// Returns true if the order is on disk, or if nothing is kept on disk.
bool places_is_kept(const struct box *box, const struct lease_place *place);
void places_try_again(struct box *box); // writes again after a failed write

// Loads the kept orders after the devices are known. Leaves out GPUs that do not exist.
void places_load(struct box *box);
// Returns 0 or -errno.
int places_open(struct box *box) __attribute__((warn_unused_result));
void places_close(struct box *box);

#endif

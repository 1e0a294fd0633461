// SPDX-License-Identifier: BSD-3-Clause
// GPUs of moved leases: for each GPU index of a lease, the GPU of this box on which it is. Tickets
// still name the earlier GPU. Orders of the broker are kept in the state directory, because they
// hold after a restart of rgpud even without the broker.
#ifndef RGPU_DAEMON_LEASE_PLACES_H
#define RGPU_DAEMON_LEASE_PLACES_H

#include "daemon/rgpud/box/box.h"

// A GPU index of a lease.
struct lease_place {
    TAILQ_ENTRY(lease_place) link;
    char lease[128];
    uint32_t ordinal;
    struct box_device *device;      // GPU to be on; NULL: the one in the ticket
    struct box_device *before;      // `device` before the last order
    char refused[48], problem[256]; // UUID of the last GPU to which the move failed, and the reason
    bool of_broker;
    uint64_t save; // number of the write to disk that includes it
};

// Returns the entry of a GPU index, or NULL if it was never moved.
struct lease_place *places_find(const struct box *box, const char *lease, uint32_t ordinal);
struct lease_place *places_next(const struct box *box,
                                const struct lease_place *after); // AFTER NULL: the first entry
// Returns the GPU of a GPU index; NAMED if it was never moved.
struct box_device *places_device(const struct box *box, const char *lease, uint32_t ordinal,
                                 struct box_device *named);

// Sets the GPU of a GPU index. Returns NULL if memory is exhausted.
struct lease_place *places_put(struct box *box, const char *lease, uint32_t ordinal,
                               struct box_device *device, bool of_broker);
// Restores `before`, and stores the refused GPU and the reason for a report.
void places_fail(struct box *box, struct lease_place *place, const char *problem);
// Deletes an entry that the broker's list no longer contains.
void places_forget(struct box *box, struct lease_place *place);
// Returns true if the entry is on disk or need not be.
bool places_is_kept(const struct box *box, const struct lease_place *place);
void places_try_again(struct box *box); // repeats a failed write

// Loads the orders on disk. Must be called when the devices are known; ignores GPUs that do not
// exist.
void places_load(struct box *box);
// Returns 0 or -errno.
int places_open(struct box *box) __attribute__((warn_unused_result));
void places_close(struct box *box);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs of this box the places of leases are on that have been moved: tickets go on naming the GPU of before. What
// a broker has ordered is kept in the state directory, so that it holds over restarts of rgpud while the broker is away.
#ifndef RGPU_DAEMON_LEASE_PLACES_H
#define RGPU_DAEMON_LEASE_PLACES_H

#include "daemon/box.h"

// One GPU of a lease, by its number there.
struct lease_place {
    TAILQ_ENTRY(lease_place) link;
    char lease[128];
    uint32_t ordinal;
    struct box_device *device;      // where it is to be; NULL: where tickets say
    struct box_device *before;      // the same, of the time before the last order
    char refused[48], problem[256]; // the GPU that it did not go to, and why
    bool of_broker;
    uint64_t save; // the writing that has it on disk
};

struct lease_place *places_find(const struct box *box, const char *lease, uint32_t ordinal);
struct lease_place *places_next(const struct box *box,
                                const struct lease_place *after); // NULL: the first
// The GPU of a place, or NAMED where it has not been moved.
struct box_device *places_device(const struct box *box, const char *lease, uint32_t ordinal,
                                 struct box_device *named);

// Says where a place is to be from now on. NULL: no memory.
struct lease_place *places_put(struct box *box, const char *lease, uint32_t ordinal,
                               struct box_device *device, bool of_broker);
// It is to be where it was; that and the reason is kept for who ordered it.
void places_fail(struct box *box, struct lease_place *place, const char *problem);
void places_forget(struct box *box, struct lease_place *place);
// Whether the broker may rely on it.
bool places_is_kept(const struct box *box, const struct lease_place *place);
void places_try_again(struct box *box); // to keep what could not be written

// Reads what is kept, once the devices are known. A GPU that is not there any more is left out.
void places_load(struct box *box);
// -errno after logging.
int places_open(struct box *box) __attribute__((warn_unused_result));
void places_close(struct box *box);

#endif

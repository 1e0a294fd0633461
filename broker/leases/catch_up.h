// SPDX-License-Identifier: BSD-3-Clause
// Brings leases that a restored database knows to the state in which a box has them: suspensions,
// resumptions and moves of the lost part of the history (history.h). A box catches up with its
// first reports in the new epoch. Until then the broker's answers have no orders for these states.
#ifndef RGPU_BROKER_CATCH_UP_H
#define RGPU_BROKER_CATCH_UP_H

#include "broker/leases/core.h"

// Returns true if the leases of a box may be in another state than the database has.
bool catch_up_is_due(const struct broker *broker, const struct pool_box *box);
// Handles the "suspensions" and "moves" of a report. RUNNING as for broker_hear.
enum outcome catch_up_hear(struct broker *broker, struct pool_box *box, const json_t *report,
                           const json_t *running, const char *actor)
    __attribute__((warn_unused_result));
// Ends the catching up of a box after a report, unless a lease still waits for another one to end.
// VERDICTS: those of adoption.h, or NULL.
void catch_up_end(struct broker *broker, struct pool_box *box, const json_t *verdicts);

// Returns the entry of a report for a lease whose memory is off the box's GPUs, or NULL.
const json_t *catch_up_suspension(const json_t *report, const char *lease);
// Returns the GPU to which a lease was moved, by a report, or NULL.
const char *catch_up_place(const json_t *report, const char *lease, uint32_t ordinal);

#endif

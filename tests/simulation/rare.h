// SPDX-License-Identifier: BSD-3-Clause
// Rare things that a campaign must have seen: one that never happened was not tested.
#ifndef RGPU_TEST_RARE_H
#define RGPU_TEST_RARE_H

#include <stdbool.h>
#include <stdint.h>

// name, and the event of the broker that shows it ("": the simulator notes it)
#define RARE_THINGS(ROW) \
    ROW(broker_killed, "") \
    ROW(power_lost, "") \
    ROW(write_torn, "") \
    ROW(write_lost, "") \
    ROW(database_copy_restored, "") \
    ROW(died_inside_a_transaction, "") \
    ROW(died_after_a_commit, "") \
    ROW(answer_lost, "") \
    ROW(majority_lost, "") \
    ROW(unknown_change_kept, "") \
    ROW(unknown_change_lost, "") \
    ROW(box_away, "box.away") \
    ROW(box_back, "box.back") \
    ROW(box_removed, "box.removed") \
    ROW(box_drained, "box.drained") \
    ROW(gpu_drained, "gpu.drained") \
    ROW(mode_changed, "gpu.mode") \
    ROW(history_lost, "history.lost") \
    ROW(lease_adopted, "lease.adopted") \
    ROW(lease_queued, "lease.queued") \
    ROW(lease_freed_in_part, "lease.freed") \
    ROW(lease_suspended, "lease.suspended") \
    ROW(lease_not_suspended, "lease.not-suspended") \
    ROW(lease_resumed, "lease.resumed") \
    ROW(lease_moved, "lease.moved") \
    ROW(lease_not_moved, "lease.not-moved") \
    ROW(clock_changed, "clock.changed")

#define RARE_NAME_(name, event) RARE_##name,
enum rare { RARE_THINGS(RARE_NAME_) RARE_COUNT };
#undef RARE_NAME_

// Begins to count in memory that processes made from now on share.
void rare_open(void);
void rare_note(enum rare thing);
// An event was written to the database.
void rare_event(const char *kind);
// Prints how often each thing happened. Returns false if one never did.
bool rare_report(void);

#endif

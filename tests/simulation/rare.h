// SPDX-License-Identifier: BSD-3-Clause
// Rare things that a campaign must have seen: one that never happened was not tested.
#ifndef RGPU_TEST_RARE_H
#define RGPU_TEST_RARE_H

#include <stdint.h>

// name, meaning
#define RARE_THINGS(ROW) \
    ROW(RARE_BROKER_KILLED, "the broker's process dies in the middle of its code") \
    ROW(RARE_POWER_LOST, "the broker's machine loses power with writes that are not synced") \
    ROW(RARE_DATABASE_RESTORED, "the database is replaced by an older copy")

#define RARE_NAME_(name, meaning) name,
enum rare { RARE_THINGS(RARE_NAME_) RARE_COUNT };
#undef RARE_NAME_

extern uint64_t rare_counts[RARE_COUNT];
void rare_note(enum rare thing);
// A point of common/base/fault.h was reached.
void rare_point(const char *point);
// An event was written to the database.
void rare_event(const char *kind);

#endif

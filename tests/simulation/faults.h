// SPDX-License-Identifier: BSD-3-Clause
// The faults of a world: a list that the seed makes before it begins. Each fault has dice of its
// own, so that one can be left out and the others stay as they are.
#ifndef RGPU_TEST_FAULTS_H
#define RGPU_TEST_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// name, how often in proportion to the others
#define FAULT_KINDS(ROW) \
    ROW(broker_dies_at_point, 6) \
    ROW(broker_dies_at_write, 6) \
    ROW(broker_killed, 3) \
    ROW(broker_stops, 2) \
    ROW(point_fails, 6) \
    ROW(write_fails, 2) \
    ROW(read_fails, 1) \
    ROW(sync_fails, 1) \
    ROW(disk_full, 1) \
    ROW(syncs_slow, 2) \
    ROW(broker_clock_jumps, 2) \
    ROW(broker_hangs, 2) \
    ROW(majority_lost, 4) \
    ROW(database_copied, 4) \
    ROW(database_restored, 5) \
    ROW(box_killed, 8) \
    ROW(box_loses_power, 6) \
    ROW(box_clock_jumps, 2) \
    ROW(sessions_stuck, 3) \
    ROW(programs_idle, 8) \
    ROW(box_stops, 4) \
    ROW(box_takes_no_sessions, 3) \
    ROW(gpu_faulty, 5) \
    ROW(session_fails, 5) \
    ROW(answers_forged, 3) \
    ROW(link_cut, 6) \
    ROW(link_half_open, 6) \
    ROW(link_lossy, 5) \
    ROW(link_slow, 5) \
    ROW(user_link_cut, 6) \
    ROW(user_link_lossy, 6)

#define FAULT_KIND_(name, weight) FAULT_##name,
enum fault_kind { FAULT_KINDS(FAULT_KIND_) FAULT_KIND_COUNT };
#undef FAULT_KIND_

enum { FAULTS_MAX = 512 };

// Faults that are left out.
struct fault_filter {
    bool kinds[FAULT_KIND_COUNT];
    bool single[FAULTS_MAX]; // by number
};

// Plans the faults of MINUTES minutes. Each seed has some of the kinds only, unless DENSE: then all
// kinds strike, every few seconds.
void faults_set_up(uint64_t seed, int64_t minutes, bool dense, const struct fault_filter *without);
const char *fault_kind_name(enum fault_kind kind);
// Ends all faults, and starts whatever is down.
void faults_heal(void);
extern uint64_t faults_struck;
// Returns how many kinds of faults have struck.
int faults_kinds_struck(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Measures how long an event loop was busy: the longest time between two calls of epoll_wait in the
// thread of the loop. Time in which the thread was ready to run without a processor is left out,
// because the machine causes it and not the program.
//
// libevent 2.1 has no hook around its wait, so this file defines epoll_wait for the whole program,
// with the same effect.
#ifndef RGPU_COMMON_LOOP_STALL_H
#define RGPU_COMMON_LOOP_STALL_H

#include <stdint.h>
#include <stdio.h>

enum { LOOP_STALL_LOGGED_MS = 100 }; // longer ones are in the log

// Begins to measure the loop of the calling thread.
void loop_stall_start(void);
// Returns the longest stall until now, and how many were logged or counted as such.
uint64_t loop_stall_longest_ns(void);
uint64_t loop_stall_count(void);
// Writes both as metrics; BEFORE, as "box_", begins their names.
void loop_stall_put(FILE *out, const char *before);

#endif

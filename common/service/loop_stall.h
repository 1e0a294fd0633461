// SPDX-License-Identifier: BSD-3-Clause
// Measures stalls of an event loop: the time between two calls of epoll_wait in the loop's thread.
// Time in which the thread waited for a processor is subtracted, because the program does not cause
// it.
//
// libevent 2.1 has no hook around its wait, so this file overrides epoll_wait for the whole
// program.
#ifndef RGPU_COMMON_LOOP_STALL_H
#define RGPU_COMMON_LOOP_STALL_H

#include <stdint.h>
#include <stdio.h>

enum { LOOP_STALL_LOGGED_MS = 100 }; // longer stalls are logged and counted

// Starts to measure the event loop of the calling thread.
void loop_stall_start(void);
// Return the longest stall so far, and the number of logged ones.
uint64_t loop_stall_longest_ns(void);
uint64_t loop_stall_count(void);
// Writes both as metrics. BEFORE is the prefix of their names, such as "box_".
void loop_stall_put(FILE *out, const char *before);

#endif
